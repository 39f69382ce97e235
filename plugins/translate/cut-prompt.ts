/** Decodes a request whose long texts are references, so that they pass from one format to another
 *  as bytes: most of an agent's request is texts that no format reads. Undefined if a format has
 *  to read them; then the whole request is decoded. */
import type { CutBody, Exchange, Json } from '../../engine/plugin.ts'
import type { Codec } from '../formats/hub/codec.ts'
import type { Content, Text } from '../formats/hub/content.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { boundaryOf } from '../formats/media/multipart.ts'
import { EXPANDED_REQUEST, NAMED_FILES } from '../slots.ts'
import { type DecodedRequest, decodeBody } from './decode-request.ts'
import { PROMPT_CHAIN } from './listeners/chains.ts'
import type { ThoughtCache } from './thought-cache.ts'

export interface CutRequest {
  readonly request: DecodedRequest
  readonly body: CutBody
}
/** Formats that read none of a conversation's texts, and send results of tools as texts. */
const FORMATS: ReadonlySet<string> = new Set(['anthropic-messages', 'openai-chat'])
export const passesTexts = (client: string, target: string): boolean =>
  FORMATS.has(client) && FORMATS.has(target)

export const decodeCutRequest = async (
  exchange: Exchange,
  codec: Codec,
  thoughts: ThoughtCache,
): Promise<CutRequest | undefined> => {
  if (readsTexts(exchange)) return undefined
  const body = exchange.request.cut()
  if (!body) return undefined
  const request = await decodeBody(exchange, codec, thoughts, body.json)
  return isReadable(request.prompt, body) ? { request, body } : undefined
}
const readsTexts = ({ request, slots }: Exchange): boolean =>
  slots.get(EXPANDED_REQUEST) !== undefined ||
  slots.get(NAMED_FILES) !== undefined ||
  slots.get(PROMPT_CHAIN)?.isEmpty === false ||
  boundaryOf(request.headers['content-type']) !== undefined

/** Whether only texts are cut, and no target reads them: a form needs a word in the texts, and the
 *  end of an unfinished answer is trimmed. */
const isReadable = (prompt: Prompt, body: CutBody): boolean =>
  !prompt.form &&
  !prompt.agent &&
  prompt.turns.at(-1)?.role !== 'assistant' &&
  prompt.turns.every(({ content }) => content.every(each => passes(each, body)))
const passes = (content: Content, body: CutBody): boolean => {
  if (content.type === 'text') return isPlain(content, body)
  if (content.type !== 'result') return isWhole(content as unknown as Json, body)
  const { content: parts, ...rest } = content
  return (
    isWhole(rest as unknown as Json, body) &&
    parts.every(part =>
      part.type === 'text' ? isPlain(part, body) : isWhole(part as unknown as Json, body),
    )
  )
}
/** A blank text is left out at some targets. */
const isPlain = ({ text, ...rest }: Text, body: CutBody): boolean =>
  (body.isWhole(text) || body.isText(text)) && isWhole(rest as unknown as Json, body)
const isWhole = (value: Json | undefined, body: CutBody): boolean => {
  if (typeof value === 'string') return body.isWhole(value)
  return (
    typeof value !== 'object' ||
    value === null ||
    Object.values(value).every(each => isWhole(each, body))
  )
}
