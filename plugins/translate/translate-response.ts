/** Installs the filters that translate a successful response for the client. */
import type { Attempt, Exchange, Reply } from '../../engine/plugin.ts'
import type { TargetFormat } from '../formats/format.ts'
import { offersHostedTools } from '../formats/hosted-tools.ts'
import type { EncodeContext } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { SSE_FRAMING } from '../formats/stream/framing.ts'
import { MODEL } from '../slots.ts'
import { AttemptListener } from './attempt-listener.ts'
import { addressOf } from './decode-request.ts'
import { watchHostedTools } from './hosted-tools.ts'
import { partChainOf } from './listeners/chains.ts'
import {
  ListenedEncoder,
  PlainResponseEncoder,
  type ResponseEncoder,
  StreamResponseEncoder,
} from './response-encoder.ts'
import { accountIdOf } from './thought-cache.ts'
import { TranslatedAnswer, TranslatedStream } from './translated-response.ts'
import type { TranslatableFormat, TranslationContext } from './translation-context.ts'

export const translateResponse = (
  attempt: Attempt,
  reply: Reply,
  context: EncodeContext,
  client: TranslatableFormat,
  target: TargetFormat,
  { log, thoughts }: TranslationContext,
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
  const recorder = client.codec.losesSignatures
    ? thoughts.createRecorder(accountIdOf(exchange))
    : undefined
  const offers = mayRunHostedTools(context.prompt)
  const hostedUsage = watchHostedTools(attempt, target, { offers, isStream })
  const listener = new AttemptListener(
    client,
    target,
    log,
    attempt,
    recorder,
    hostedUsage,
    isStream,
  )
  reply.through(
    isStream
      ? new TranslatedStream(target, encoder, listener)
      : new TranslatedAnswer(target.codec, target.name, encoder, listener),
  )
}

/** `prompt`: what was sent to the target. */
export const contextOf = (exchange: Exchange, prompt: Prompt): EncodeContext => ({
  id: exchange.id.replace(/^req_/, ''),
  model: exchange.slots.get(MODEL)?.asked ?? '',
  now: Math.floor(Date.now() / 1_000),
  prompt,
  path: addressOf(exchange),
})

/** The client's body may refer to a prompt that the provider stores: it may offer hosted tools. The
 *  tools of the body itself are those of the prompt, without those that were left out. */
const mayRunHostedTools = ({ tools, body }: Prompt): boolean =>
  tools.some(({ type }) => type === 'hosted' || type === 'foreign') ||
  offersHostedTools({ ...body, tools: null })
