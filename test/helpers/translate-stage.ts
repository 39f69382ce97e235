/** Runs one attempt through the translate stage without a gateway. */
import type { Target } from '../../engine/plugin.ts'
import { MODEL } from '../../plugins/slots.ts'
import translate from '../../plugins/translate/index.ts'
import {
  errorFrom,
  type FakeHost,
  fakeAttempt,
  fakeExchange,
  fakeHost,
  type RequestOptions,
  type UpstreamReply,
} from './exchange.ts'

export const SSE = { 'content-type': 'text/event-stream; charset=utf-8' }
export const JSON_TYPE = { 'content-type': 'application/json' }
export const TARGET: Target = { upstream: 'gp', name: 'gpt-4.1' }
export const chat = { model: 'gp-4.1', messages: [] }
export const delta = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'

export interface StageOptions extends RequestOptions {
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
  if (options.isParsed) Object.assign(exchange.request, { parsed: await exchange.request.json() })
  const attempt = fakeAttempt(exchange, target, upstreamReply)
  const stage = translate.setup(format, host)
  const fault = await errorFrom(() => stage.forward(attempt, attempt.next))
  return { exchange, attempt, fault, host }
}
