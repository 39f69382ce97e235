/** The client process of the bench: closed loop, open loop at a rate, or streams that stay open. */
import net from 'node:net'
import { STAMP } from './answers.ts'

export interface Job {
  readonly port: number
  /** A whole request, head and body. */
  readonly request: string
  /** The status of an answer that counts as one; 200 by default. */
  readonly status?: number
  /** Sent by every second connection of a closed loop in place of the request; its answers are not
   *  counted. */
  readonly beside?: string
  readonly connections: number
  readonly seconds: number
  /** Requests a second, independent of responses. Without it each connection sends its next request
   *  right after a response. */
  readonly rate?: number
  /** ms over which the first requests of a closed loop are spread; 0 by default. */
  readonly spread?: number
  /** Opens one stream per connection, waits for its first event, and keeps it open. */
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
  /** ms from the time in a stamped event until it is read; NaN without such events. */
  readonly delay50: number
  readonly delay99: number
}

/** One connection with one request at a time. Finds the end of a response, and counts events. */
class Connection {
  readonly socket: net.Socket
  readonly #request: Buffer
  #onAnswer: (ok: boolean) => void = () => {}
  #firstEvent: (() => void) | undefined
  #remaining = 0
  #inBody = false
  #chunked = false
  #status = 0
  #tail = ''
  readonly #delays: number[]
  readonly #expected: number
  busy = false
  events = 0

  constructor({ port, status = 200 }: Job, request: Buffer, delays: number[]) {
    this.#request = request
    this.#delays = delays
    this.#expected = status
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('data', bytes => this.#take(bytes as Buffer))
    this.socket.on('error', () => this.#end(false))
    this.socket.on('close', () => this.#end(false))
  }
  ask(onAnswer: (ok: boolean) => void): void {
    // No event would follow.
    if (this.socket.destroyed) return onAnswer(false)
    this.busy = true
    this.#onAnswer = onAnswer
    this.socket.write(this.#request)
  }
  /** Resolves when the first event has arrived. */
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
      this.#remaining = Number(/\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0)
      this.#chunked = head.includes('transfer-encoding: chunked')
      this.#inBody = true
      from = end + 4
    }
    if (!this.#chunked) {
      this.#remaining -= bytes.length - from
      if (this.#remaining <= 0) this.#end(this.#status === this.#expected)
      return
    }
    const text = this.#tail + bytes.toString('latin1', from)
    for (let at = text.indexOf('data: '); at >= 0; at = text.indexOf('data: ', at + 6))
      this.events++
    const now = process.hrtime.bigint()
    for (const [, stamp = ''] of text.matchAll(STAMP))
      this.#delays.push(Number(now - BigInt(stamp)) / 1e6)
    if (this.events > 0) this.#firstEvent?.()
    if (text.endsWith('0\r\n\r\n')) this.#end(this.#status === this.#expected)
    // Shorter than `data: `, so that no event is counted twice.
    else this.#tail = text.slice(-5)
  }
  #end(ok: boolean): void {
    if (!this.busy) return
    this.busy = false
    this.#inBody = false
    this.#tail = ''
    this.#onAnswer(ok)
  }
}

const percentile = (values: number[], share: number): number =>
  values.sort((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN

class Measurements {
  readonly #times: number[] = []
  readonly delays: number[] = []
  failed = 0
  add(ok: boolean, ms: number): void {
    if (ok) this.#times.push(ms)
    else this.failed++
  }
  outcome(events: number, seconds: number): Outcome {
    return {
      requests: this.#times.length,
      failed: this.failed,
      events,
      seconds,
      p50: percentile(this.#times, 0.5),
      p99: percentile(this.#times, 0.99),
      delay50: percentile(this.delays, 0.5),
      delay99: percentile(this.delays, 0.99),
    }
  }
}

const closedLoop = (
  connections: readonly Connection[],
  { seconds, spread = 0, beside }: Job,
  measurements: Measurements,
) => {
  const end = performance.now() + seconds * 1000
  return Promise.all(
    connections.map(
      (connection, index) =>
        new Promise<void>(resolve => {
          const again = (): void => {
            const due = performance.now()
            if (due >= end || connection.socket.destroyed) return resolve()
            connection.ask(ok => {
              if (beside === undefined || index % 2 === 0)
                measurements.add(ok, performance.now() - due)
              again()
            })
          }
          if (spread === 0) again()
          else setTimeout(again, (spread * index) / connections.length)
        }),
    ),
  )
}

/** Replaces connections that the server has closed, as idle ones are. */
const openLoop = (
  connections: Connection[],
  connect: () => Connection,
  seconds: number,
  rate: number,
  measurements: Measurements,
) =>
  new Promise<void>(resolve => {
    const start = performance.now()
    // A warm-up shorter than the pause between two requests still sends one.
    const total = Math.max(1, Math.round(seconds * rate))
    let sentCount = 0
    let onAnswer = 0
    const tick = (): void => {
      while (sentCount < total) {
        const due = start + (sentCount * 1000) / rate
        const index = performance.now() >= due ? connections.findIndex(each => !each.busy) : -1
        if (index < 0) break
        // In turns: the server closes connections that it waits for.
        const [next] = connections.splice(index, 1)
        const free = !next || next.socket.destroyed ? connect() : next
        connections.push(free)
        sentCount++
        free.ask(ok => {
          measurements.add(ok, performance.now() - due)
          if (++onAnswer === total) resolve()
        })
      }
      if (sentCount < total) setTimeout(tick, 1)
    }
    tick()
  })

/** ms beyond the job until unanswered requests fail: the longest stream takes seconds. */
const LATE = 60_000

const run = async (job: Job, openStreams: Connection[]): Promise<Outcome> => {
  for (const connection of openStreams.splice(0)) connection.socket.destroy()
  const request = Buffer.from(job.request)
  const measurements = new Measurements()
  const connect = () => new Connection(job, request, measurements.delays)
  const other = Buffer.from(job.beside ?? job.request)
  const connections = Array.from({ length: job.connections }, (_, index) =>
    index % 2 === 0 ? connect() : new Connection(job, other, measurements.delays),
  )
  const start = performance.now()
  // Requests without a response by then count as failed.
  const end = () => connections.forEach(connection => void connection.socket.destroy())
  const late = setTimeout(end, job.seconds * 1000 + LATE)
  if (job.hold) {
    openStreams.push(...connections)
    for (const connection of connections) await connection.hold()
  } else if (job.rate) await openLoop(connections, connect, job.seconds, job.rate, measurements)
  else await closedLoop(connections, job, measurements)
  const events = connections.reduce((sum, connection) => sum + connection.events, 0)
  clearTimeout(late)
  if (!job.hold) end()
  return measurements.outcome(events, (performance.now() - start) / 1000)
}

if (import.meta.main) {
  const openStreams: Connection[] = []
  process.on('message', async (job: Job) => process.send?.(await run(job, openStreams)))
  process.on('disconnect', () => process.exit(0))
  process.send?.({})
}
