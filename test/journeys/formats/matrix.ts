/** Starts the format matrix: an upstream process with all four formats, a gateway, and the SDKs as
 *  clients. */
import { once } from 'node:events'
import { recordedFormat, recordings } from '../../helpers/formats/recordings.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'
import { forkProgram } from '../../helpers/operator.ts'
import { type Client, sdkClients } from './sdks.ts'

export const recordedCases = (recordings() ?? []).filter(
  ({ format }) => recordedFormat(format) !== undefined,
)

export const FORMATS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
] as const
/** Google's own SDK uses /v1. */
const VERBS = ['v1beta', 'v1'].flatMap(version =>
  ['generateContent', 'streamGenerateContent'].map(
    verb => `POST /${version}/models/{model}:${verb}`,
  ),
)
export const shortName = (format: string): string => format.split('-')[1] ?? format

/** Nanos per unit of each meter: the primes show which meters an amount contains. */
export const NANOS: Readonly<Record<string, number>> = {
  input: 2_000,
  cached: 3_000,
  cache_write: 5_000,
  cache_write_1h: 7_000,
  audio_input: 11_000,
  image_input: 13_000,
  output: 17_000,
  thinking: 19_000,
  audio_output: 23_000,
  web_search: 29_000,
  file_search: 31_000,
  code_execution: 37_000,
  cached_audio: 41_000,
  cached_image: 43_000,
  image_output: 47_000,
  image_generation: 53_000,
  x_search: 59_000,
}
const PRICE = JSON.stringify(
  Object.fromEntries(
    Object.entries(NANOS).map(([meter, nanos]) => [meter, `${nanos / 1_000} / 1M`]),
  ),
)
const CALLS =
  '{ web_search: 20, file_search: 20, code_execution: 20, image_generation: 20, x_search: 20 }'
const PRICED = `price: ${PRICE}, max_calls: ${CALLS}`
/** Targets stay in use however often they fail. */
const HEALTH = 'health: { failures: 1000000, eject: 1s }'
const routes = (port: number, priced: boolean): string => `
pipeline: [errors, auth, validate, model, meter, translate]
upstreams:
${FORMATS.map(name => `  ${shortName(name)}: { url: 'http://127.0.0.1:${port}', key: k, formats: [${name}], ${HEALTH} }`).join('\n')}
models:
${FORMATS.map(name => `  ${shortName(name)}-*: { to: '${shortName(name)}/*', context: 100000, output: 8192, ${priced ? PRICED : 'free: true'} }`).join('\n')}
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
  - { path: POST /v1/responses, model: body, translate: openai-responses, errors: openai }
  - { path: POST /v1/messages, model: body, translate: anthropic-messages, errors: anthropic }
${VERBS.map(path => `  - { path: '${path}', auth: [query-key, key], model: { path: model }, translate: google-gemini, errors: google }`).join('\n')}
`

export interface Matrix {
  readonly url: string
  readonly key: string
  /** The data folder of the gateway, with its ledger. */
  readonly data: string
  /** By format. */
  readonly clients: Readonly<Record<string, Client>>
  stop(): Promise<void>
}
interface Setting {
  /** A file of test/fixtures/upstream. */
  readonly program?: string
  /** Whether the models have prices. */
  readonly isPriced?: boolean
}
export const startMatrix = async (setting: Setting = {}): Promise<Matrix> => {
  const { program = 'recorded.ts', isPriced: priced = false } = setting
  const upstream = forkProgram(new URL(`../../fixtures/upstream/${program}`, import.meta.url))
  const [port] = (await once(upstream, 'message')) as [number]
  const gateway = await startGateway({ routes: routes(port, priced) })
  const key = await gateway.key()
  await creditAdmin(gateway.data)
  return {
    url: gateway.url,
    key,
    data: gateway.data,
    clients: sdkClients(gateway.url, key),
    async stop() {
      upstream.disconnect()
      await gateway.stop()
    },
  }
}

/** Runs eight at a time; the order of the answers does not matter. */
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
