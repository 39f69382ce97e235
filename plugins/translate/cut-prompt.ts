/** Decodes a request whose long texts are references, so that they pass from one format to another
 *  as bytes: most of an agent's request is texts that no format reads. Undefined if a format has
 *  to read them; then the whole request is decoded. */
import { cutTextOf, hasCutText } from '../../engine/kit.ts'
import type { CutBody, Exchange, Json, Slot } from '../../engine/plugin.ts'
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

/** Once per exchange, for all targets that are tried. */
const CUT_REQUEST: Slot<CutRequest> = { name: 'cut prompt' }

export const decodeCutRequest = async (
  exchange: Exchange,
  codec: Codec,
  thoughts: ThoughtCache,
): Promise<CutRequest | undefined> => {
  const earlier = exchange.slots.get(CUT_REQUEST)
  if (earlier || readsTexts(exchange)) return earlier
  const body = exchange.request.cut()
  if (!body) return undefined
  const request = await decodeBody(exchange, codec, thoughts, body.json)
  if (!isReadable(request.prompt)) return undefined
  const cut = { request, body }
  exchange.slots.set(CUT_REQUEST, cut)
  return cut
}
const readsTexts = ({ request, slots }: Exchange): boolean =>
  slots.get(EXPANDED_REQUEST) !== undefined ||
  slots.get(NAMED_FILES) !== undefined ||
  slots.get(PROMPT_CHAIN)?.isEmpty === false ||
  boundaryOf(request.headers['content-type']) !== undefined

/** Whether only texts are cut, and no target reads them: a form needs a word in the texts, and the
 *  end of an unfinished answer is trimmed. */
const isReadable = ({ form, agent, turns }: Prompt): boolean =>
  !form &&
  !agent &&
  turns.at(-1)?.role !== 'assistant' &&
  turns.every(({ content }) => content.every(passes))
const passes = (content: Content): boolean => {
  if (content.type === 'text') return isPlain(content)
  const { content: parts, ...rest } =
    content.type === 'result' ? content : { ...content, content: [] }
  return (
    isWhole(rest) && parts.every(part => (part.type === 'text' ? isPlain(part) : isWhole(part)))
  )
}
/** A text that is whole, or one cut text alone. A blank text is left out at some targets. */
const isPlain = ({ text, ...rest }: Text): boolean =>
  isWhole(rest) && (isWhole(text) || !isBlank(cutTextOf(text)?.start))
const isBlank = (text = ''): boolean => text.trim() === ''
const isWhole = (value: object | string): boolean => !hasCutText(value as Json)
