/** Lets the stages behind `translate` listen to a call whose bytes pass. */
import type { Attempt, Exchange, Next } from '../../../engine/plugin.ts'
import type { Codec } from '../../formats/hub/codec.ts'
import { isEventStream } from '../../formats/stream/sse.ts'
import { decodeRequest } from '../decode-request.ts'
import type { TranslationContext } from '../translation-context.ts'
import { PROMPT_CHAIN, partChainOf } from './chains.ts'
import { PlainPartFilter, StreamPartFilter } from './part-filters.ts'

/** Whether a stage changes the prompt or the answer: then bytes cannot pass. */
export const hasChanges = (exchange: Exchange): boolean =>
  exchange.slots.get(PROMPT_CHAIN)?.hasChanges === true ||
  partChainOf(exchange)?.hasChanges === true

/** Decodes the request, once per exchange. Undefined if no stage listens to it. */
export const showPrompt = (
  exchange: Exchange,
  codec: Codec | undefined,
  { thoughts }: TranslationContext,
): Promise<unknown> | undefined =>
  codec && exchange.slots.get(PROMPT_CHAIN)?.isEmpty === false
    ? decodeRequest(exchange, codec, thoughts)
    : undefined

/** Decodes the answer beside its bytes, if a stage listens to it. */
export const showParts = (attempt: Attempt, codec: Codec | undefined, next: Next): Next => {
  const parts = partChainOf(attempt.exchange)
  if (!parts || !codec) return next
  return async () => {
    await next()
    const { reply } = attempt
    if (reply.status >= 300) return
    const PartFilter = isEventStream(reply) ? StreamPartFilter : PlainPartFilter
    reply.through(new PartFilter(codec, parts))
  }
}
