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
import { fakeAttempt, fakeExchange, fakeHost, pour, thrownBy, type Upstreamed } from './exchange.ts'

export interface AttemptOptions {
  readonly client?: string
  readonly target?: string
  readonly body: Json
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly traits?: Target['traits']
  readonly upstreamReply?: Upstreamed
  readonly ground?: Partial<TranslationContext>
  readonly account?: number
}

/** Returns the request to the upstream and the translated reply. */
export const translateAttempt = async (options: AttemptOptions) => {
  const { client = 'openai-chat', target = 'openai-chat', body, path = '/', headers = {} } = options
  const [from, to] = [formats.get(client), formats.get(target)]
  if (!isTranslatable(from) || !isTranslatable(to))
    throw new Error(`no codec of ${client} or ${target}`)
  const host = fakeHost()
  const ground: TranslationContext = {
    ...{ log: host.log, host, thoughts: new ThoughtCache(), strict: false, fetches: new Map() },
    ...options.ground,
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
  const translator = new Translator(from, to, ground)
  const fault = await thrownBy(() => translator.forward(attempt, attempt.next))
  const request = attempt.request.body
  const upstreamRequest = request instanceof Uint8Array ? Buffer.from(request).toString() : ''
  if (fault)
    return {
      exchange,
      host,
      fault,
      upstreamRequest: undefined,
      reply: undefined,
      output: undefined,
    }
  const { reply } = attempt
  return {
    exchange,
    host,
    fault,
    upstreamRequest: JSON.parse(upstreamRequest),
    reply,
    output: await pour(reply),
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
