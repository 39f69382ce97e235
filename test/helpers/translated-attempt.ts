/** Translates one attempt from one format to another without a gateway. */

import type { Json, Reply, Target } from '../../engine/plugin.ts'
import { toReply } from '../../engine/request/exchange.ts'
import { formats } from '../../plugins/formats/index.ts'
import { ACCOUNT, MODEL } from '../../plugins/slots.ts'
import { ThoughtCache } from '../../plugins/translate/thought-cache.ts'
import {
  isTranslatable,
  type TranslationContext,
} from '../../plugins/translate/translation-context.ts'
import { Translator } from '../../plugins/translate/translator.ts'
import {
  errorFrom,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  readReply,
  type UpstreamReply,
} from './exchange.ts'

export interface AttemptOptions {
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
  const fault = await errorFrom(() => translator.forward(attempt, attempt.next))
  const request = attempt.request.body
  const text = request instanceof Uint8Array ? Buffer.from(request).toString() : ''
  const reply = fault ? undefined : attempt.reply
  return {
    exchange,
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
    if (!file) throw new Error('127.0.0.1 is no public address.')
    return file()
  },
})
export const fileReply = (bytes: string | Buffer, type: string, status = 200): Reply =>
  toReply(status, Buffer.from(bytes), { 'content-type': type })
