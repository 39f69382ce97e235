/** Brings the content of a prompt into what every target knows: one name for each media type, and
 *  documents that hold other content taken apart. One walk, also through tool results. Media of
 *  system turns become the user's. Pure. */
import type { Json } from '../../../../engine/plugin.ts'
import { fault } from '../../faults.ts'
import { kindOfMime, textOfSource } from '../../media/media.ts'
import { mediaName } from '../../media/media-names.ts'
import type { DroppedFields } from '../codec.ts'
import type { Content, Media, Result, Text } from '../content.ts'
import type { Prompt, Turn } from '../prompt.ts'

/** `format`: of the target; it gets its own documents unchanged. */
export const fitContent = (prompt: Prompt, format: string | undefined): Prompt => {
  const fitPart = <Part extends Content>(part: Part): readonly (Part | Text | Media)[] => {
    if (part.type !== 'media') return [part]
    const isOwn = part.payload !== undefined && part.payload.origin === format
    return part.parts && !isOwn ? partsOf(part, part.parts).map(withName) : [withName(part)]
  }
  const fit = (content: Content): readonly Content[] =>
    content.type === 'result'
      ? [{ ...content, content: content.content.flatMap(part => fitPart<Text | Media>(part)) }]
      : fitPart(content)
  if (!prompt.turns.some(({ content }) => content.some(hasMedia))) return prompt
  const turns = prompt.turns.map(turn => ({ ...turn, content: turn.content.flatMap(fit) }))
  return { ...prompt, turns }
}
const hasMedia = (content: Content): boolean =>
  content.type === 'media' || (content.type === 'result' && content.content.some(hasMedia))

/** The texts in a row become a document, with title and description at the first one; media follow
 *  at their places. A document of media alone keeps its title as a text. */
const partsOf = (whole: Media, parts: readonly (Text | Media)[]): readonly (Text | Media)[] => {
  const { parts: _, payload: __, cache, ...head } = whole
  const result: (Text | Media)[] = []
  let texts: string[] = []
  const endText = (): void => {
    if (texts.length === 0) return
    const source = { type: 'text', text: texts.join('\n') } as const
    const isFirst = result.length === 0
    result.push(isFirst ? { ...head, source } : { type: 'media', kind: 'document', source })
    texts = []
  }
  for (const part of parts) {
    if (part.type === 'text') texts.push(part.text)
    else {
      endText()
      if (result.length === 0) result.push(...titleOf(whole))
      result.push(part)
    }
  }
  endText()
  const last = result.at(-1)
  const lastCache = cache ?? parts.findLast(part => part.cache)?.cache
  if (last && lastCache) result[result.length - 1] = { ...last, cache: lastCache }
  return result
}
const titleOf = ({ name, context }: Media): readonly Text[] =>
  [name, context].flatMap(text => (text === undefined ? [] : [{ type: 'text', text } as const]))

const withName = <Part extends Text | Media>(part: Part): Part => {
  if (part.type !== 'media') return part
  const { source } = part
  if (source.type === 'text' || source.mime === undefined) return part
  const mime = mediaName(source.mime, source.type === 'data' ? source.data : '')
  const kind = kindOf(part.kind, mime)
  if (mime === source.mime && kind === part.kind) return part
  return { ...part, kind, source: { ...source, mime } }
}
/** The type of the data decides, whatever kind of part the client has put it into. */
const kindOf = (kind: Media['kind'], mime: string): Media['kind'] =>
  kind === 'document' || TELLING_TYPE.test(mime) ? kindOfMime(mime) : kind
const TELLING_TYPE = /^(?:(?:image|audio|video|text)\/|application\/(?:pdf|json)$)/

/** System turns of most formats hold text alone: their media follow as a turn of the user. */
export const withoutSystemMedia = (prompt: Prompt): Prompt => {
  const isMisplaced = ({ role, content }: Turn): boolean =>
    role === 'system' && content.some(hasMedia)
  if (!prompt.turns.some(isMisplaced)) return prompt
  const turns = prompt.turns.flatMap((turn): readonly Turn[] => {
    if (!isMisplaced(turn)) return [turn]
    const texts = turn.content.filter(each => !hasMedia(each))
    const user: Turn = { role: 'user', content: turn.content.filter(hasMedia) }
    return texts.length > 0 ? [{ ...turn, content: texts }, user] : [user]
  })
  return { ...prompt, turns }
}

/** Media of kinds that a target does not take: documents of text become texts, also in tool
 *  results. Throws a fault for others. */
export const fitMediaKinds = (prompt: Prompt, kinds: Json | undefined): Prompt => {
  if (!Array.isArray(kinds)) return prompt
  const fitPart = <Part extends Content>(part: Part): Part | Media => {
    if (part.type !== 'media' || kinds.includes(part.kind)) return part
    const text = part.kind === 'document' ? textOfSource(part.source) : undefined
    if (text !== undefined) return { ...part, source: { type: 'text', text } }
    const param = part.at ?? 'messages'
    throw fault('CONTENT_UNSUPPORTED', [param, part.kind], { param })
  }
  const fit = (content: Content): Content =>
    content.type === 'result'
      ? { ...content, content: content.content.map(part => fitPart<Text | Media>(part)) }
      : fitPart(content)
  const turns = prompt.turns.map(turn => ({ ...turn, content: turn.content.map(fit) }))
  return { ...prompt, turns }
}

/** Media of tool results follow as the user's, for targets that take them there only. */
export const withoutResultMedia = (prompt: Prompt): Prompt => {
  const isMixed = (content: Content): boolean => content.type === 'result' && hasMedia(content)
  if (!prompt.turns.some(({ content }) => content.some(isMixed))) return prompt
  const turns = prompt.turns.map((turn): Turn => {
    if (!turn.content.some(isMixed)) return turn
    const isResult = ({ type }: Content): boolean => type === 'result'
    const media = turn.content.flatMap(each => (each.type === 'result' ? mediaOf(each) : []))
    const results = turn.content.filter(isResult).map(withTexts)
    const rest = turn.content.filter(each => !isResult(each))
    return { ...turn, content: [...results, ...media, ...rest] }
  })
  return { ...prompt, turns }
}
const mediaOf = ({ content }: Result): readonly Media[] =>
  content.filter(each => each.type === 'media')
const withTexts = (content: Content): Content =>
  content.type === 'result'
    ? {
        ...content,
        content: content.content.map(each =>
          each.type === 'media' ? { type: 'text', text: `[${each.kind} below]` } : each,
        ),
      }
    : content

/** Empty documents and media, which say nothing and which some providers refuse, are left out and
 *  reported, also in tool results. */
export const withoutEmptyMedia = (prompt: Prompt, dropped: DroppedFields): Prompt => {
  if (!prompt.turns.some(({ content }) => content.some(holdsEmpty))) return prompt
  const isKept = (part: Content): boolean => {
    if (!isEmptyMedia(part)) return true
    dropped.add(part.at ?? part.kind)
    return false
  }
  const keep = (content: readonly Content[]): readonly Content[] =>
    content
      .filter(isKept)
      .map(each =>
        each.type === 'result' ? { ...each, content: each.content.filter(isKept) } : each,
      )
  const turns = prompt.turns.map(turn => ({ ...turn, content: keep(turn.content) }))
  return { ...prompt, turns }
}
const isEmptyMedia = (part: Content): part is Media => {
  if (part.type !== 'media') return false
  const { source } = part
  return (
    (source.type === 'text' && source.text === '') || (source.type === 'data' && source.data === '')
  )
}
const holdsEmpty = (content: Content): boolean =>
  isEmptyMedia(content) || (content.type === 'result' && content.content.some(isEmptyMedia))
