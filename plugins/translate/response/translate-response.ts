/** Installs the filters that translate a successful response for the client. */
import type { Attempt, Exchange, Reply } from '../../../engine/plugin.ts'
import type { TargetFormat } from '../../formats/format.ts'
import { offersHostedTools } from '../../formats/hosted-tools.ts'
import type { EncodeContext } from '../../formats/hub/codec.ts'
import { isRunByProvider, type Prompt } from '../../formats/hub/prompt.ts'
import { SSE_FRAMING } from '../../formats/stream/framing.ts'
import { bareId, MODEL } from '../../slots.ts'
import { addressOf } from '../decode-request.ts'
import { watchHostedTools } from '../hosted-tools.ts'
import { partChainOf } from '../listeners/chains.ts'
import type { TranslatableFormat, TranslationContext } from '../translation-context.ts'
import {
  ListenedEncoder,
  PlainResponseEncoder,
  type ResponseEncoder,
  StreamResponseEncoder,
} from './response-encoder.ts'
import { TranslatedAnswer } from './translated-answer.ts'
import { TranslatedStream } from './translated-stream.ts'
import { failureReader, translationListener } from './translation-listener.ts'

/** One answer and its way to the client. */
export interface Translation {
  readonly attempt: Attempt
  readonly reply: Reply
  readonly client: TranslatableFormat
  readonly target: TargetFormat
  /** The prompt that was sent to the target, and the client's request. */
  readonly context: EncodeContext
}

export const translateResponse = (
  { attempt, reply, client, target, context }: Translation,
  shared: TranslationContext,
): void => {
  const { exchange } = attempt
  const { framing = SSE_FRAMING } = target.stream
  const isStream = framing.isStream(reply)
  const clientEncoder: ResponseEncoder = context.prompt.stream
    ? new StreamResponseEncoder(client.codec, context)
    : new PlainResponseEncoder(client.codec, context)
  const parts = partChainOf(exchange)
  const encoder = parts ? new ListenedEncoder(clientEncoder, parts) : clientEncoder
  delete reply.headers['content-length']
  reply.headers['content-type'] = encoder.type
  const offers = mayRunHostedTools(context.prompt)
  const hostedUsage = watchHostedTools(attempt, target, { offers, isStream })
  const answer = { client, target, encoder, isStream, hostedUsage }
  const listener = translationListener(attempt, answer, shared)
  const failureOf = failureReader(attempt, target, shared.log)
  reply.through(
    isStream
      ? new TranslatedStream(target, encoder, listener)
      : new TranslatedAnswer({ ...target, failureOf }, encoder, listener),
  )
}

/** `prompt`: what was sent to the target. */
export const contextOf = (exchange: Exchange, prompt: Prompt): EncodeContext => ({
  id: bareId(exchange),
  model: exchange.slots.get(MODEL)?.asked ?? '',
  now: Math.floor(Date.now() / 1_000),
  prompt,
  path: addressOf(exchange),
})

/** The client's body may refer to a prompt that the provider stores: it may offer hosted tools. The
 *  tools of the body itself are those of the prompt, without those that were left out. */
const mayRunHostedTools = ({ tools, body }: Prompt): boolean =>
  tools.some(isRunByProvider) || offersHostedTools({ ...body, tools: null })
