/** The order of pipelined requests: a request whose method is not safe runs alone on its connection
 *  (RFC 9112 §9.3.2). Node's server writes the responses in order by itself. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { openResponse } from '../response/lingering-close.ts'

/** Methods that change nothing (RFC 9110 §9.2.1). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

interface Held {
  readonly safe: boolean
  /** Absent where the connection leaves HTTP with this request. */
  readonly response: ServerResponse | undefined
  start(): void
}
/** One connection with pipelined requests. */
interface Line {
  readonly running: Map<ServerResponse, boolean>
  readonly held: Held[]
}

export class RequestOrder {
  readonly #lines = new WeakMap<Duplex, Line>()

  /** Calls `start` when the request may run: at once behind safe requests if it is safe as well, else
   *  when every response before it has ended; never if the connection ends first. `response`: absent
   *  where the connection leaves HTTP with this request. */
  take(
    socket: Duplex,
    method: string | undefined,
    response: ServerResponse | undefined,
    start: () => void,
  ): void {
    const line = this.#lineOf(socket)
    line.held.push({ safe: response !== undefined && SAFE.has(method ?? ''), response, start })
    this.#advance(socket, line)
  }
  #lineOf(socket: Duplex): Line {
    const known = this.#lines.get(socket)
    if (known) return known
    const line: Line = { running: new Map(), held: [] }
    this.#lines.set(socket, line)
    const first = openResponse(socket)
    if (first) this.#run(socket, line, first, SAFE.has(first.req.method ?? ''))
    return line
  }
  #run(socket: Duplex, line: Line, response: ServerResponse, safe: boolean): void {
    line.running.set(response, safe)
    response.once('close', () => {
      line.running.delete(response)
      this.#advance(socket, line)
    })
  }
  #advance(socket: Duplex, line: Line): void {
    for (let next = line.held[0]; next && mayRun(next, line); next = line.held[0]) {
      line.held.shift()
      if (!socket.writable) continue
      if (next.response) this.#run(socket, line, next.response, next.safe)
      next.start()
    }
    if (line.running.size === 0 && line.held.length === 0) this.#lines.delete(socket)
  }
}

const mayRun = ({ safe }: Held, { running }: Line): boolean =>
  running.size === 0 || (safe && running.values().every(each => each))
