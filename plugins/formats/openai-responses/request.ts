/** Decodes a client's request, and encodes one for an upstream of this format. */
import { fault } from '../faults.ts'
import { type Fields, flagIn, omitUndefined, textIn } from '../fields.ts'
import type { CountFacts } from '../format.ts'
import { cacheWriter, readCacheHint } from '../hub/cache-hint.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { fitForm, namesJson } from '../hub/form-request.ts'
import type { Prompt, Turn } from '../hub/prompt.ts'
import { clientNamesIn } from '../hub/setting-aliases.ts'
import { countSchema } from './about.ts'
import { readItems } from './decode-messages.ts'
import { ALIASES, readForm, readPrevious, readSettings, readThinking } from './decode-settings.ts'
import { reportDropped, writeInput } from './encode-messages.ts'
import { writeSettings } from './encode-settings.ts'
import { fault as own } from './faults.ts'
import { readChoice, readTools, writeTools } from './tools.ts'

export { mediaIn } from './decode-messages.ts'
export { repairHistory } from './encode-messages.ts'

export const decodePrompt = (body: Fields, _: string, dropped: DroppedFields): Prompt => {
  if ('messages' in body) throw own('UNSUPPORTED_PARAMETER')
  if (body.prompt !== undefined && body.prompt !== null)
    throw fault('CONTENT_UNSUPPORTED', ['prompt', 'A stored prompt'], { param: 'prompt' })
  const choice = readChoice(body.tool_choice, dropped)
  const form = readForm(body)
  const thinking = readThinking(body, dropped)
  const previous = readPrevious(body)
  return {
    turns: readTurns(body, previous !== undefined),
    tools: readTools(body, dropped),
    settings: readSettings(body, dropped),
    ...clientNamesIn(body, ALIASES, dropped),
    ...(choice && { choice }),
    ...(form && { form }),
    ...(thinking && { thinking }),
    ...(previous && { previous }),
    ...readCacheHint(body, ''),
    stream: flagIn(body, 'stream') ?? false,
    includeUsage: true,
    body,
  }
}
const readTurns = (body: Fields, continues: boolean): readonly Turn[] => {
  const instructions = textIn(body, 'instructions')
  const { input } = body
  if ((input === undefined || input === null) && !continues)
    throw fault('MEMBER_MISSING', ['input'], { param: 'input' })
  return [
    ...(instructions
      ? [{ role: 'system', content: [{ type: 'text', text: instructions }] } as const]
      : []),
    ...(input === undefined || input === null ? [] : readItems(input)),
  ]
}

export const encodePrompt = (
  wholePrompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const prompt = fitForm(wholePrompt, dropped)
  const { instructions, turns } = withInstructions(prompt)
  const hint = cacheWriter(target.traits.cache_control === true, dropped)
  reportDropped(prompt, dropped)
  return {
    path: '/v1/responses',
    body: omitUndefined({
      model: target.name,
      instructions,
      input: writeInput(turns, hint, dropped, target.traits.signatures === 'none'),
      ...writeTools(prompt, hint, dropped),
      ...writeSettings(prompt, target, dropped),
      ...hint(prompt.cache),
      stream: prompt.stream ? true : undefined,
    }),
  }
}
/** A leading system turn becomes the instructions, unless it is the only turn, or the only one with
 *  the word JSON: for a JSON object the provider looks for it in the input. */
const withInstructions = ({
  turns,
  form,
}: Prompt): { readonly instructions?: string; readonly turns: readonly Turn[] } => {
  const [first, ...rest] = turns
  if (first?.role !== 'system' || rest.length === 0) return { turns }
  if (form?.type === 'json' && !namesJson(rest)) return { turns }
  // Instructions are a text: they carry no hint.
  const texts = first.content.flatMap(content =>
    content.type === 'text' && !content.cache ? [content.text] : [],
  )
  return texts.length === first.content.length
    ? { instructions: texts.join('\n\n'), turns: rest }
    : { turns }
}

export const counting: CountFacts = {
  schema: countSchema,
  countedRequest: body => body,
  renameModel: (body, model) => ({ ...body, model }),
  encodeCount: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
}
