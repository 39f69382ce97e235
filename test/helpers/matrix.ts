/** The stand of the matrix: an upstream process that speaks all four formats, a gateway, the SDKs as clients. */
import { once } from 'node:events'
import { creditAdmin } from './credit.ts'
import { startGateway } from './gateway.ts'
import { forkSwiftly } from './operator.ts'
import { recordedFormat, recordings } from './recorded.ts'
import { type Client, sdkClients } from './sdks.ts'

/** Of one format its own SDK makes nothing, or something else, whoever stands between: several answers spliced into one
 *  stream, or no stream of the format at all. */
const SPLICED = new Set([
  ...['rec-0236', 'rec-0245', 'rec-0248', 'rec-0250', 'rec-0251', 'rec-0261', 'rec-0262'],
  ...['rec-0299', 'rec-0309', 'rec-0348', 'rec-0344'],
  'rec-0303', // its pieces were shortened by whoever recorded it
])
export const recorded = (recordings() ?? []).filter(
  ({ id, format, status }) =>
    status === 200 && recordedFormat(format) !== undefined && !SPLICED.has(id),
)

export const FORMATS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
] as const
/** Google's own SDK has moved on to /v1. */
const VERBS = ['v1beta', 'v1'].flatMap(version =>
  ['generateContent', 'streamGenerateContent'].map(
    verb => `POST /${version}/models/{model}:${verb}`,
  ),
)
export const short = (format: string): string => format.split('-')[1] ?? format

/** However often they refuse, they are asked again. */
const HEALTH = 'health: { failures: 1000000, eject: 1s }'
const routes = (port: number): string => `
pipeline: [errors, auth, validate, model, meter, translate]
upstreams:
${FORMATS.map(name => `  ${short(name)}: { url: 'http://127.0.0.1:${port}', key: k, formats: [${name}], ${HEALTH} }`).join('\n')}
models:
${FORMATS.map(name => `  ${short(name)}-*: { to: '${short(name)}/*', context: 100000, output: 8192, free: true }`).join('\n')}
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
${VERBS.map(path => `  - { path: '${path}', auth: [query-key, key], model: { path: model }, translate: google-gemini, errors: google }`).join('\n')}
`

export interface Matrix {
  readonly url: string
  readonly key: string
  /** By the name of their format. */
  readonly clients: Readonly<Record<string, Client>>
  stop(): Promise<void>
}
/** `program`: one of those in test/fixtures/upstream. */
export const startMatrix = async (program = 'recorded.ts'): Promise<Matrix> => {
  const upstream = forkSwiftly(new URL(`../fixtures/upstream/${program}`, import.meta.url))
  const [port] = (await once(upstream, 'message')) as [number]
  const gateway = await startGateway({ routes: routes(port) })
  const key = await gateway.key()
  await creditAdmin(gateway.data)
  return {
    ...{ url: gateway.url, key, clients: sdkClients(gateway.url, key) },
    async stop() {
      upstream.disconnect()
      await gateway.stop()
    },
  }
}

/** A few at a time: the order of the answers does not matter. */
export const inLanes = async <T>(
  all: readonly T[],
  run: (one: T) => Promise<void>,
): Promise<void> => {
  const rest = [...all]
  const lane = async (): Promise<void> => {
    for (let one = rest.shift(); one !== undefined; one = rest.shift()) await run(one)
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}
