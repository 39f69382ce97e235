/** A request, written for an upstream of this format. */
import type { Loss, Sent, TargetFacts } from '../codec.ts'
import type { Content, Media } from '../content.ts'
import { present } from '../fields.ts'
import type { Prompt, Turn } from '../hub.ts'
import { writeTools } from './tools.ts'
import { writeItems } from './write-items.ts'
import { writeSettings } from './write-settings.ts'

export const encodePrompt = (prompt: Prompt, target: TargetFacts, loss: Loss): Sent => {
  const { instructions, turns } = opened(prompt.turns)
  sayLost(prompt, loss)
  return {
    path: '/v1/responses',
    body: present({
      model: target.name,
      instructions,
      input: writeItems(turns, loss),
      ...writeTools(prompt, loss),
      ...writeSettings(prompt, target, loss),
      stream: prompt.stream ? true : undefined,
    }),
  }
}
/** What no item, part or tool of this format can say. */
const sayLost = ({ turns, tools, cache }: Prompt, loss: Loss): void => {
  const contents = turns.flatMap(({ content }) => content)
  if (turns.some(({ name }) => name !== undefined)) loss.drop('name')
  if (
    cache ||
    [...contents, ...inResults(contents), ...tools].some(
      each => 'cache' in each && each.cache !== undefined,
    )
  )
    loss.drop('cache_control')
  const media = [...contents, ...inResults(contents)].filter(each => each.type === 'media')
  const cites = contents.some(each => each.type === 'text' && each.citations?.length)
  if (cites || media.some(({ cited }) => cited)) loss.drop('citations')
  // Only a file that comes along with its bytes has a name.
  const untitled = ({ kind, source }: Media): boolean =>
    kind !== 'document' || source.type !== 'data'
  if (media.some(each => each.name !== undefined && untitled(each))) loss.drop('filename')
  if (media.some(({ clip }) => clip !== undefined)) loss.drop('videoMetadata')
}
const inResults = (contents: readonly Content[]): readonly Content[] =>
  contents.flatMap(each => (each.type === 'result' ? each.content : []))

/** The system prompt has a field of its own, as long as anything is left to be answered. */
const opened = (
  turns: readonly Turn[],
): { readonly instructions?: string; readonly turns: readonly Turn[] } => {
  const [first, ...rest] = turns
  if (first?.role !== 'system' || rest.length === 0) return { turns }
  const texts = first.content.flatMap(content => (content.type === 'text' ? [content.text] : []))
  return texts.length === first.content.length
    ? { instructions: texts.join('\n\n'), turns: rest }
    : { turns }
}
