/** The media of a prompt, also those in results of tools. Pure. */
import type { Content, Media, Source, Text } from './content.ts'
import type { Prompt } from './prompt.ts'

export const mediaIn = ({ turns }: Pick<Prompt, 'turns'>): readonly Media[] =>
  turns.flatMap(({ content }) => content.flatMap(mediaOf))
const mediaOf = (content: Content): readonly Media[] => {
  if (content.type === 'media') return [content]
  return content.type === 'result' ? content.content.flatMap(mediaOf) : []
}

/** The prompt with other media in their places. */
export const mapMedia = (prompt: Prompt, map: (media: Media) => Media): Prompt => {
  const mapPart = <Part extends Content>(part: Part): Part | Media =>
    part.type === 'media' ? map(part) : part
  const mapContent = (content: Content): Content =>
    content.type === 'result'
      ? { ...content, content: content.content.map(part => mapPart<Text | Media>(part)) }
      : mapPart(content)
  const turns = prompt.turns.map(turn => ({ ...turn, content: turn.content.map(mapContent) }))
  return { ...prompt, turns }
}

/** The id or URL that the client sent in place of the data. */
export const referenceIn = (source: Source): string | undefined => {
  if (source.type === 'file') return source.file
  return source.type === 'url' ? source.url : undefined
}
