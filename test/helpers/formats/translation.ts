/** Runs one attempt through the translate stage, or through a translator of two formats, without
 *  a gateway. */
import type { Json, Reply, Target } from '../../../engine/plugin.ts'
import { toReply } from '../../../engine/request/exchange.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { ACCOUNT, MODEL } from '../../../plugins/slots.ts'
import translate from '../../../plugins/translate/index.ts'
import { ThoughtCache } from '../../../plugins/translate/thought-cache.ts'
import {
  factsOf,
  isTranslatable,
  type TranslationContext,
} from '../../../plugins/translate/translation-context.ts'
import { Translator } from '../../../plugins/translate/translator.ts'
import {
  errorFrom,
  type FakeHost,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  type RequestOptions,
  readReply,
  type UpstreamReply,
} from '../gateway/fake-exchange.ts'

export const SSE = { 'content-type': 'text/event-stream; charset=utf-8' }
export const JSON_TYPE = { 'content-type': 'application/json' }
export const TARGET: Target = { upstream: 'gp', name: 'gpt-4.1' }
export const chat = { model: 'gp-4.1', messages: [] }
export const delta = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'

interface StageOptions extends RequestOptions {
  readonly format?: string
  readonly target?: Target
  readonly model?: string
  readonly host?: FakeHost
  /** Whether an earlier stage has read the body. */
  readonly isParsed?: boolean
}
export const runTranslate = async (upstreamReply: UpstreamReply, options: StageOptions = {}) => {
  const { format = 'openai-chat', target = TARGET, model = 'gp-4.1', host = fakeHost() } = options
  const exchange = fakeExchange({ body: chat, ...options })
  exchange.slots.set(MODEL, { asked: model, entry: model })
  const parsed = options.isParsed ? await exchange.request.json() : undefined
  if (options.isParsed) Object.assign(exchange.request, { parsed, outlined: parsed })
  const attempt = fakeAttempt(exchange, target, upstreamReply)
  const stage = translate.setup(format, host)
  const fault = await errorFrom(() => stage.forward(attempt, attempt.next))
  return { exchange, attempt, fault, host }
}

interface AttemptOptions {
  readonly client?: string
  readonly target?: string
  readonly body: Json
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly traits?: Target['traits']
  readonly upstreamReply?: UpstreamReply
  readonly context?: Partial<TranslationContext>
  readonly account?: number
}

/** Returns the request to the upstream and the translated reply; undefined after a fault. */
export const translateAttempt = async (options: AttemptOptions) => {
  const { client = 'openai-chat', target = 'openai-chat', body, path = '/', headers = {} } = options
  const [from, to] = [formats.get(client), formats.get(target)]
  if (!isTranslatable(from) || !isTranslatable(to))
    throw new Error(`no codec of ${client} or ${target}`)
  const host = fakeHost()
  const context: TranslationContext = {
    log: host.log,
    host,
    thoughts: new ThoughtCache(),
    strict: false,
    rules: new Map(),
    fetches: new Map(),
    ...options.context,
  }
  const [local = '', search = ''] = path.split('?')
  const exchange = fakeExchange({ body, path: local, search, headers })
  exchange.slots.set(MODEL, { asked: 'asked', entry: 'asked' })
  exchange.slots.set(ACCOUNT, { id: options.account ?? 1, name: 'a', role: 'customer' })
  const traits = options.traits ?? {}
  const attempt = fakeAttempt(
    exchange,
    { upstream: 'up', name: 'there', traits },
    options.upstreamReply,
  )
  const translator = new Translator(from, to, context)
  const fault = await errorFrom(() =>
    translator.forward(attempt, attempt.next, factsOf(attempt, context)),
  )
  const request = attempt.request.body
  const text = request instanceof Uint8Array ? Buffer.from(request).toString() : ''
  const reply = fault ? undefined : attempt.reply
  return {
    exchange,
    attempt,
    host,
    fault,
    upstreamRequest: fault ? undefined : JSON.parse(text),
    reply,
    output: reply && (await readReply(reply)),
  }
}

/** A host whose `send` serves files by path. */
export const hostServing = (
  files: Readonly<Record<string, () => Reply>>,
): TranslationContext['host'] => ({
  send: async (_, { path }) => {
    const file = files[path]
    if (!file) throw new Error('127.0.0.1 is not a public address.')
    return file()
  },
})
export const fileReply = (bytes: string | Buffer, type: string, status = 200): Reply =>
  toReply(status, Buffer.from(bytes), { 'content-type': type })
