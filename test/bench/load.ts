/** The bench's client, a process of its own: closed loop, open loop at a rate, or streams held open. */
import net from 'node:net'

export interface Job {
  readonly port: number
  /** A whole request, head and body. */
  readonly request: string
  readonly connections: number
  readonly seconds: number
  /** Requests a second, due whether or not earlier ones were answered; without it, each connection asks again at once. */
  readonly rate?: number
  /** Only opens one stream per connection, waits for its first event and holds it until the next job. */
  readonly hold?: boolean
}
export interface Outcome {
  readonly requests: number
  readonly failed: number
  readonly events: number
  readonly seconds: number
  /** ms; from the moment a request was due. */
  readonly p50: number
  readonly p99: number
}

/** One connection, one request at a time. Finds an answer's end by its framing, and counts events. */
class Connection {
  readonly socket: net.Socket
  readonly #request: Buffer
  #answered: (ok: boolean) => void = () => {}
  #firstEvent: (() => void) | undefined
  #left = 0
  #inBody = false
  #chunked = false
  #status = 0
  #tail = ''
  busy = false
  events = 0

  constructor(port: number, request: Buffer) {
    this.#request = request
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('data', bytes => this.#take(bytes as Buffer))
    this.socket.on('error', () => this.#end(false))
    this.socket.on('close', () => this.#end(false))
  }
  ask(answered: (ok: boolean) => void): void {
    this.busy = true
    this.#answered = answered
    this.socket.write(this.#request)
  }
  /** Resolves when the first event is there. */
  hold(): Promise<void> {
    return new Promise(resolve => {
      this.#firstEvent = resolve
      this.ask(() => resolve())
    })
  }
  #take(bytes: Buffer): void {
    let from = 0
    if (!this.#inBody) {
      const end = bytes.indexOf('\r\n\r\n')
      const head = bytes.toString('latin1', 0, end).toLowerCase()
      this.#status = Number(head.slice(9, 12))
      this.#left = Number(/\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0)
      this.#chunked = head.includes('transfer-encoding: chunked')
      this.#inBody = true
      from = end + 4
    }
    if (!this.#chunked) {
      this.#left -= bytes.length - from
      if (this.#left <= 0) this.#end(this.#status === 200)
      return
    }
    const text = this.#tail + bytes.toString('latin1', from)
    for (let at = text.indexOf('data: '); at >= 0; at = text.indexOf('data: ', at + 6))
      this.events++
    if (this.events > 0) this.#firstEvent?.()
    if (text.endsWith('0\r\n\r\n')) this.#end(this.#status === 200)
    // Shorter than `data: `, so that nothing is counted twice.
    else this.#tail = text.slice(-5)
  }
  #end(ok: boolean): void {
    if (!this.busy) return
    this.busy = false
    this.#inBody = false
    this.#tail = ''
    this.#answered(ok)
  }
}

class Tally {
  readonly #times: number[] = []
  failed = 0
  note(ok: boolean, ms: number): void {
    if (ok) this.#times.push(ms)
    else this.failed++
  }
  outcome(events: number, seconds: number): Outcome {
    const sorted = this.#times.sort((left, right) => left - right)
    const at = (share: number): number =>
      sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
    return {
      requests: sorted.length,
      failed: this.failed,
      events,
      seconds,
      p50: at(0.5),
      p99: at(0.99),
    }
  }
}

const closedLoop = (connections: readonly Connection[], seconds: number, tally: Tally) => {
  const end = performance.now() + seconds * 1000
  return Promise.all(
    connections.map(
      connection =>
        new Promise<void>(resolve => {
          const again = (): void => {
            const due = performance.now()
            if (due >= end || connection.socket.destroyed) return resolve()
            connection.ask(ok => {
              tally.note(ok, performance.now() - due)
              again()
            })
          }
          again()
        }),
    ),
  )
}

const openLoop = (
  connections: readonly Connection[],
  seconds: number,
  rate: number,
  tally: Tally,
) =>
  new Promise<void>(resolve => {
    const start = performance.now()
    // A warming that is shorter than the pause between two requests still sends one.
    const total = Math.max(1, Math.round(seconds * rate))
    let sent = 0
    let answered = 0
    const tick = (): void => {
      while (sent < total) {
        const due = start + (sent * 1000) / rate
        const free = performance.now() >= due && connections.find(each => !each.busy)
        if (!free) break
        sent++
        free.ask(ok => {
          tally.note(ok, performance.now() - due)
          if (++answered === total) resolve()
        })
      }
      if (sent < total) setTimeout(tick, 1)
    }
    tick()
  })

/** ms: the longest stream takes seconds, and more on a busy machine. */
const LATE = 60_000

const run = async (job: Job, held: Connection[]): Promise<Outcome> => {
  for (const connection of held.splice(0)) connection.socket.destroy()
  const request = Buffer.from(job.request)
  const connections = Array.from(
    { length: job.connections },
    () => new Connection(job.port, request),
  )
  const tally = new Tally()
  const start = performance.now()
  // What is not answered by then never will be: it counts as failed.
  const end = () => connections.forEach(connection => void connection.socket.destroy())
  const late = setTimeout(end, job.seconds * 1000 + LATE)
  if (job.hold) {
    held.push(...connections)
    for (const connection of connections) await connection.hold()
  } else if (job.rate) await openLoop(connections, job.seconds, job.rate, tally)
  else await closedLoop(connections, job.seconds, tally)
  const events = connections.reduce((sum, connection) => sum + connection.events, 0)
  clearTimeout(late)
  if (!job.hold) end()
  return tally.outcome(events, (performance.now() - start) / 1000)
}

if (import.meta.main) {
  const held: Connection[] = []
  process.on('message', async (job: Job) => process.send?.(await run(job, held)))
  process.on('disconnect', () => process.exit(0))
  process.send?.({})
}
