/** Runs measurements in interleaved rounds: subject after subject, round after round, each warmed before it counts. */
import { once } from 'node:events'
import { type Manner, requestBody } from './answers.ts'
import { PATH } from './gateway.ts'
import type { Job, Outcome } from './load.ts'
import { cpuOf, kernelTcp, type Part, residentOf } from './processes.ts'
import type { Held } from './report.ts'
import type { Round, Rounds } from './tables.ts'

export interface Subject {
  readonly name: string
  /** Of the process tree whose cost counts; none for the upstream alone. */
  readonly pid?: number
  readonly port: number
  readonly key: string
}
export type Load = (job: Job) => Promise<Outcome>

export const loadThrough =
  ({ child }: Part): Load =>
  async job => {
    child.send(job)
    const [outcome] = await once(child, 'message')
    return outcome as Outcome
  }

export const jobFor = (subject: Subject, manner: Manner, more: Partial<Job>): Job => ({
  port: subject.port,
  request: requestTo(subject, manner),
  connections: 64,
  seconds: 0,
  ...more,
})

const requestTo = (subject: Subject, manner: Manner): string =>
  requestOf(subject, PATH, requestBody(manner))

/** A whole request, head and body. */
export const requestOf = ({ port, key }: Subject, path: string, body: string): string => {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

export const interleave = async (
  subjects: readonly Subject[],
  load: Load,
  rounds: number,
  job: (subject: Subject) => Job,
): Promise<Rounds> => {
  const found = new Map<string, Round[]>(subjects.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const subject of subjects) {
      const wanted = job(subject)
      // The first time until the compilers of the runtime have settled.
      await load({ ...wanted, seconds: round === 0 ? 2 * wanted.seconds : wanted.seconds / 6 })
      found.get(subject.name)?.push(await measure(subject, load, wanted))
    }
  return found
}

const measure = async ({ pid }: Subject, load: Load, job: Job): Promise<Round> => {
  const before = pid ? cpuOf(pid) : Number.NaN
  const outcome = await load(job)
  return {
    ...outcome,
    cpu: pid ? cpuOf(pid) - before : Number.NaN,
    resident: pid ? residentOf(pid) : Number.NaN,
  }
}

/** Memory of streams that are open and silent. */
export const holdStreams = async (
  subjects: readonly Subject[],
  load: Load,
  streams: number,
): Promise<Held[]> => {
  const rows: Held[] = []
  for (const subject of subjects) {
    const { name, pid } = subject
    if (!pid) continue
    const hold = (connections: number) => load(jobFor(subject, 'idle', { hold: true, connections }))
    // The first streams pay for pools and for code that is compiled once.
    await hold(Math.ceil(streams / 20))
    await hold(0)
    const before = { resident: residentOf(pid), kernel: kernelTcp() }
    await hold(streams)
    rows.push({
      name,
      streams,
      resident: (residentOf(pid) - before.resident) / streams,
      // Each connection has one end in the subject and one in another process.
      kernel: Math.max(0, kernelTcp() - before.kernel) / 2 / streams,
    })
    await hold(0)
  }
  return rows
}
