/** Runs measurements in interleaved rounds: each subject in turn, warmed up before it counts. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Manner, requestBody } from './answers.ts'
import { PATH } from './gateway.ts'
import type { Job, Outcome } from './load.ts'
import { cpuOf, kernelTcp, type Part, pssOf, residentOf } from './processes.ts'
import type { StreamMemory } from './report.ts'
import { joinSlices, type Round, type Rounds, type Subject } from './tables.ts'

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
export const requestOf = (
  { port, key, headers = [] }: Subject,
  path: string,
  body: string,
): string => {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Divides each round into slices that alternate between subjects: other load on the machine
 *  affects all subjects alike. */
export const interleave = async (
  subjects: readonly Subject[],
  load: Load,
  rounds: number,
  job: (subject: Subject) => Job,
  slices = 1,
): Promise<Rounds> => {
  const results = new Map<string, Round[]>(subjects.map(({ name }) => [name, []]))
  for (const subject of subjects) {
    // Until the JIT compilers of the runtime have finished most of their work.
    const plan = job(subject)
    await load({ ...plan, seconds: 4 * plan.seconds })
  }
  for (let round = 0; round < rounds; round++) {
    const parts = new Map<string, Round[]>(subjects.map(({ name }) => [name, []]))
    for (let slice = 0; slice < slices; slice++)
      for (const subject of subjects) {
        const plan = job(subject)
        const seconds = plan.seconds / slices
        await load({ ...plan, seconds: seconds / 6 })
        const part = await measure(subject, load, { ...plan, seconds })
        parts.get(subject.name)?.push(part)
      }
    for (const [name, list] of parts) results.get(name)?.push(joinSlices(list))
  }
  return results
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

/** Measures the memory of idle open streams. `rest`: ms until the builders of the gateways have
 *  ended; `settle`: ms until a process has returned what it no longer uses. */
export const holdStreams = async (
  subjects: readonly Subject[],
  load: Load,
  streams: number,
  { rest, settle }: { readonly rest: number; readonly settle: number },
): Promise<StreamMemory[]> => {
  const rows: StreamMemory[] = []
  await pause(rest)
  for (const subject of subjects) {
    const { name, pid } = subject
    if (!pid) continue
    const hold = (connections: number) => load(jobFor(subject, 'idle', { hold: true, connections }))
    // The first streams pay for pools and for code that is compiled once.
    await hold(Math.ceil(streams / 20))
    await hold(0)
    await pause(settle)
    const before = { pss: pssOf(pid), kernel: kernelTcp() }
    await hold(streams)
    await pause(settle)
    rows.push({
      name,
      streams,
      pss: (pssOf(pid) - before.pss) / streams,
      // Each connection has one end in the subject and one in another process.
      kernel: Math.max(0, kernelTcp() - before.kernel) / 2 / streams,
    })
    await hold(0)
  }
  return rows
}
