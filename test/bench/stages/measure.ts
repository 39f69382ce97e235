/** Measures the part `stages`: billed calls without telemetry, journal, guards, cache, rules and
 *  mirror, with their stages but none in use, and with each of them, in turns. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { NAMES, requestBody } from '../answers.ts'
import { PATH } from '../gateway.ts'
import type { Job } from '../load.ts'
import { interleave, type Load, requestOf } from '../rounds.ts'
import type { Rounds, Subject } from '../tables.ts'
import { GUARDED_PATH, OFF, STAGE_MODELS, TELEMETRY, WITHOUT } from './names.ts'

export interface StageGateways {
  /** Billed, and without the stages; with the stages; and with telemetry, too. */
  readonly without: Subject
  readonly stages: Subject
  readonly telemetry: Subject
}
interface Sizes {
  readonly rounds: number
  readonly seconds: number
  readonly slices: number
}
/** Each call asks its upstream, also if the cache has the answer. */
const MISS = ['cache-control: no-cache']

/** Starts a server that accepts all telemetry. `end` stops it. */
export const startReceiver = async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const end = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end }
}

export const measureStages = async (
  { without, stages, telemetry }: StageGateways,
  load: Load,
  { rounds, seconds, slices }: Sizes,
): Promise<Rounds> => {
  const body = requestBody('plain')
  const bodyFor = (model: string): string => body.replace(NAMES.plain, model)
  const requests = new Map<string, { readonly path: string; readonly body: string }>([
    ...[WITHOUT, OFF, TELEMETRY].map(name => [name, { path: PATH, body }] as const),
    ['guards', { path: GUARDED_PATH, body }],
    ...Object.entries(STAGE_MODELS).map(
      ([name, model]) => [name, { path: PATH, body: bodyFor(model) }] as const,
    ),
  ])
  const gateways: Readonly<Record<string, Subject>> = { [WITHOUT]: without, [TELEMETRY]: telemetry }
  const subjects = [...requests.keys()].map(name => ({
    ...(gateways[name] ?? stages),
    name,
    ...(name === 'cache' && { headers: MISS }),
  }))
  const job = (subject: Subject): Job => {
    const { path = PATH, body: own = body } = requests.get(subject.name) ?? {}
    const request = requestOf(subject, path, own)
    return { port: subject.port, request, connections: 64, seconds }
  }
  return interleave(subjects, load, rounds, job, slices)
}
