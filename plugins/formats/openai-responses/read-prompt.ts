/** Decodes a client's request. */
import type { DroppedFields } from '../codec.ts'
import { fault } from '../faults.ts'
import { type Fields, flagIn, textIn } from '../fields.ts'
import type { Prompt, Turn } from '../hub.ts'
import { clientNamesIn } from '../setting-aliases.ts'
import { fault as own } from './faults.ts'
import { readItems } from './read-items.ts'
import { ALIASES, readForm, readPrevious, readSettings, readThinking } from './settings.ts'
import { readChoice, readTools } from './tools.ts'

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
