/** Encodes a request for an upstream of this format. */
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../codec.ts'
import type { Content, Media } from '../content.ts'
import { omitUndefined } from '../fields.ts'
import type { Prompt, Turn } from '../hub.ts'
import { writeTools } from './tools.ts'
import { writeItems } from './write-items.ts'
import { writeSettings } from './write-settings.ts'

export const encodePrompt = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const { instructions, turns } = withInstructions(prompt.turns)
  reportDropped(prompt, dropped)
  return {
    path: '/v1/responses',
    body: omitUndefined({
      model: target.name,
      instructions,
      input: writeItems(turns, dropped),
      ...writeTools(prompt, dropped),
      ...writeSettings(prompt, target, dropped),
      stream: prompt.stream ? true : undefined,
    }),
  }
}
/** Reports what no item, part or tool of this format can express. */
const reportDropped = ({ turns, tools, cache }: Prompt, dropped: DroppedFields): void => {
  const contents = turns.flatMap(({ content }) => content)
  if (turns.some(({ name }) => name !== undefined)) dropped.add('name')
  if (
    cache ||
    [...contents, ...inResults(contents), ...tools].some(
      each => 'cache' in each && each.cache !== undefined,
    )
  )
    dropped.add('cache_control')
  const media = [...contents, ...inResults(contents)].filter(each => each.type === 'media')
  const cites = contents.some(each => each.type === 'text' && each.citations?.length)
  if (cites || media.some(({ citationsEnabled }) => citationsEnabled)) dropped.add('citations')
  // Only a file with inline data has a name.
  const isUntitled = ({ kind, source }: Media): boolean =>
    kind !== 'document' || source.type !== 'data'
  if (media.some(each => each.name !== undefined && isUntitled(each))) dropped.add('filename')
  if (media.some(({ clip }) => clip !== undefined)) dropped.add('videoMetadata')
}
const inResults = (contents: readonly Content[]): readonly Content[] =>
  contents.flatMap(each => (each.type === 'result' ? each.content : []))

/** A leading system turn becomes the instructions, unless it is the only turn. */
const withInstructions = (
  turns: readonly Turn[],
): { readonly instructions?: string; readonly turns: readonly Turn[] } => {
  const [first, ...rest] = turns
  if (first?.role !== 'system' || rest.length === 0) return { turns }
  const texts = first.content.flatMap(content => (content.type === 'text' ? [content.text] : []))
  return texts.length === first.content.length
    ? { instructions: texts.join('\n\n'), turns: rest }
    : { turns }
}
