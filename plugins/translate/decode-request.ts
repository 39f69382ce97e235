/** Decodes a client's request into the hub: once per exchange, for all targets that are tried. */
import type { Exchange, Json, Slot } from '../../engine/plugin.ts'
import { DroppedFieldReport } from '../conversion/dropped-fields.ts'
import { isFields } from '../formats/fields.ts'
import type { Codec } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { mediaIn } from '../formats/hub/prompt-media.ts'
import { addFormFiles } from '../formats/media/form-body.ts'
import { checkInlineMedia } from '../formats/media/inline-media.ts'
import { boundaryOf } from '../formats/media/multipart.ts'
import { EXPANDED_REQUEST, NAMED_FILES } from '../slots.ts'
import { attachFiles } from './attach-files.ts'
import { PROMPT_CHAIN } from './listeners/chains.ts'
import { accountIdOf, type ThoughtCache } from './thought-cache.ts'

export interface DecodedRequest {
  readonly prompt: Prompt
  /** Fields that decoding dropped. */
  readonly dropped: readonly string[]
}
const DECODED_REQUEST: Slot<DecodedRequest> = { name: 'prompt' }

export const decodeRequest = async (
  exchange: Exchange,
  codec: Codec,
  thoughts: ThoughtCache,
): Promise<DecodedRequest> => {
  const { request, slots } = exchange
  const earlier = slots.get(DECODED_REQUEST)
  if (earlier) return earlier
  const body = request.parsed ?? (await request.json())
  const decodedRequest = await decodeBody(exchange, codec, thoughts, body)
  slots.set(DECODED_REQUEST, decodedRequest)
  return decodedRequest
}
/** `clientBody`: the JSON of the request, or that of its cut body. */
export const decodeBody = async (
  exchange: Exchange,
  codec: Codec,
  thoughts: ThoughtCache,
  clientBody: Json,
): Promise<DecodedRequest> => {
  const { request, slots } = exchange
  const expandedBody = slots.get(EXPANDED_REQUEST)?.body ?? clientBody
  const body = isFields(expandedBody) ? expandedBody : {}
  const droppedFields = new DroppedFieldReport({})
  const boundary = boundaryOf(request.headers['content-type'])
  const bodyWithFiles = boundary ? addFormFiles(body, await request.bytes(), boundary) : body
  const decodedPrompt = codec.decodePrompt(bodyWithFiles, addressOf(exchange), droppedFields)
  checkInlineMedia(mediaIn(decodedPrompt))
  const restoredPrompt = codec.losesSignatures
    ? thoughts.restore(decodedPrompt, accountIdOf(exchange))
    : decodedPrompt
  const files = slots.get(NAMED_FILES)
  const wholePrompt = files ? await attachFiles(restoredPrompt, files) : restoredPrompt
  // Answers that repeat members of their request repeat what the client sent.
  const clientPrompt = isFields(clientBody) ? { ...wholePrompt, body: clientBody } : wholePrompt
  const prompt = (await slots.get(PROMPT_CHAIN)?.run(clientPrompt)) ?? clientPrompt
  return { prompt, dropped: droppedFields.fields }
}

/** Path and query of the client's request. */
export const addressOf = ({ request: { path, query } }: Exchange): string =>
  query.size > 0 ? `${path}?${query}` : path
