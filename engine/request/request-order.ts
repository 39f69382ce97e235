/** The order of pipelined requests: a request whose method is not safe runs alone on its connection
 *  (RFC 9112 §9.3.2). Node's server writes the responses in order by itself. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { openResponse } from '../response/lingering-close.ts'

/** Methods that change nothing (RFC 9110 §9.2.1). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

interface WaitingRequest {
  readonly safe: boolean
  /** Absent if the connection leaves HTTP with this request. */
  readonly response: ServerResponse | undefined
  start(): void
}
/** One connection with pipelined requests. */
interface ConnectionQueue {
  readonly running: Map<ServerResponse, boolean>
  readonly waiting: WaitingRequest[]
}

export class RequestOrder {
  readonly #queues = new WeakMap<Duplex, ConnectionQueue>()

  /** Calls `start` when the request may run: at once behind safe requests if it is safe as well,
   *  else when every response before it has ended; never if the connection ends first. `response`:
   *  absent if the connection leaves HTTP with this request. */
  take(
    socket: Duplex,
    method: string | undefined,
    response: ServerResponse | undefined,
    start: () => void,
  ): void {
    const queue = this.#queueOf(socket)
    queue.waiting.push({ safe: response !== undefined && SAFE.has(method ?? ''), response, start })
    this.#advance(socket, queue)
  }
  #queueOf(socket: Duplex): ConnectionQueue {
    const existing = this.#queues.get(socket)
    if (existing) return existing
    const queue: ConnectionQueue = { running: new Map(), waiting: [] }
    this.#queues.set(socket, queue)
    const first = openResponse(socket)
    if (first) this.#run(socket, queue, first, SAFE.has(first.req.method ?? ''))
    return queue
  }
  #run(socket: Duplex, queue: ConnectionQueue, response: ServerResponse, safe: boolean): void {
    queue.running.set(response, safe)
    response.once('close', () => {
      queue.running.delete(response)
      this.#advance(socket, queue)
    })
  }
  #advance(socket: Duplex, queue: ConnectionQueue): void {
    for (let next = queue.waiting[0]; next && mayRun(next, queue); next = queue.waiting[0]) {
      queue.waiting.shift()
      if (!socket.writable) continue
      if (next.response) this.#run(socket, queue, next.response, next.safe)
      next.start()
    }
    if (queue.running.size === 0 && queue.waiting.length === 0) this.#queues.delete(socket)
  }
}

const mayRun = ({ safe }: WaitingRequest, { running }: ConnectionQueue): boolean =>
  running.size === 0 || (safe && running.values().every(each => each))
