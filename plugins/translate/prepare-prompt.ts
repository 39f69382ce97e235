/** Prepares a decoded prompt for one target: within the balance, with results behind their calls,
 *  with the model's default thinking, and with the media that the target does not fetch itself. */
import type { Attempt, Exchange } from '../../engine/plugin.ts'
import { fetchMedia, namesMedia } from '../conversion/media-fetch.ts'
import { autoCacheFor } from '../conversion/prompt-cache-option.ts'
import { addBreakpoints } from '../formats/hub/auto-cache.ts'
import type { TargetCodec } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { pairResults, separateCalls } from '../formats/hub/turn-order.ts'
import { OUTPUT_LIMIT } from '../slots.ts'
import type { DecodedRequest } from './decode-request.ts'
import { MediaUpload } from './media-upload.ts'
import { addDefaultThinking } from './model-defaults.ts'
import type { Goal, TranslationContext } from './translation-context.ts'

export const preparePrompt = (
  { prompt, dropped }: DecodedRequest,
  attempt: Attempt,
  { codec, facts, dropped: droppedFields }: Pick<Goal, 'codec' | 'facts' | 'dropped'>,
  context: TranslationContext,
): Prompt | Promise<Prompt> => {
  const { exchange, target } = attempt
  const { imageGeneration } = codec
  for (const field of dropped)
    if (!imageGeneration?.acceptedFields.has(field)) droppedFields.addClientName(field)
  droppedFields.useAliases(prompt.clientNames)
  const autoCache = autoCacheFor(target, context.autoCache)
  const cachedPrompt = autoCache ? addBreakpoints(prompt, autoCache) : prompt
  const boundPrompt = applyOutputLimit(cachedPrompt, exchange)
  if (imageGeneration) {
    const imagePrompt = imageGeneration.reducePrompt(boundPrompt, facts, droppedFields)
    const images = { kinds: ['image'] }
    if (!namesMedia(imagePrompt, images)) return imagePrompt
    return fetchMedia(imagePrompt, images, context.host, exchange.signal)
  }
  const orderedPrompt = { ...boundPrompt, turns: pairResults(separateCalls(boundPrompt.turns)) }
  const thinkingPrompt = addDefaultThinking(orderedPrompt, target.traits ?? {}, droppedFields)
  const kinds = context.fetches.get(target.upstream)
  if (!kinds) return thinkingPrompt
  const fetched = { kinds, ...(codec.opensUrl && { opensUrl: codec.opensUrl }) }
  if (!namesMedia(thinkingPrompt, fetched)) return thinkingPrompt
  const upload = uploadFor(attempt, codec, context)
  return fetchMedia(thinkingPrompt, fetched, context.host, exchange.signal, upload)
}

/** Applies the output limit that the balance covers. */
const applyOutputLimit = (prompt: Prompt, { slots }: Exchange): Prompt => {
  const limit = slots.get(OUTPUT_LIMIT)
  return limit === undefined ? prompt : { ...prompt, settings: { ...prompt.settings, limit } }
}

const uploadFor = (
  { exchange, target: { upstream } }: Attempt,
  codec: TargetCodec,
  { host, log, uploads }: TranslationContext,
): MediaUpload | undefined => {
  const largest = uploads?.get(upstream)
  if (!codec.upload || largest === undefined) return undefined
  return new MediaUpload(codec.upload, { host, log, upstream, largest, exchange, codec })
}
