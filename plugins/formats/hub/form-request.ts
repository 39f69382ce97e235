/** Structured output that a provider has no field for, or takes only beside a word in the
 *  conversation. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import type { DroppedFields, TargetFacts } from './codec.ts'
import type { Content } from './content.ts'
import type { Prompt, Turn } from './prompt.ts'
import { describesObject } from './root-schema.ts'

export const JSON_REQUEST = 'Answer with one valid JSON object and nothing else.'
export const schemaRequest = (schema: Json): string =>
  `Answer with JSON that fits this schema, and nothing else: ${JSON.stringify(schema)}`

/** Whether the word JSON is in a text of these turns. */
export const namesJson = (turns: readonly Turn[]): boolean =>
  turns.some(({ content }) => content.some(hasWord))
const hasWord = (content: Content): boolean => content.type === 'text' && /json/i.test(content.text)

/** The prompt with a further system turn behind the leading ones. */
const withSystem = (prompt: Prompt, text: string): Prompt => {
  const { turns } = prompt
  const first = turns.findIndex(({ role }) => role !== 'system')
  const start = first < 0 ? turns.length : first
  const turn: Turn = { role: 'system', content: [{ type: 'text', text }] }
  return { ...prompt, turns: [...turns.slice(0, start), turn, ...turns.slice(start)] }
}
/** Asks for the form in the conversation alone. */
export const requestForm = (prompt: Prompt, dropped: DroppedFields): Prompt => {
  const { form, ...rest } = prompt
  if (!form) return prompt
  if (form.type === 'json') return withSystem(rest, JSON_REQUEST)
  if (form.strict) dropped.add('form')
  return withSystem(rest, schemaRequest(form.schema))
}
/** For OpenAI's formats: JSON needs the word, and a schema describes an object. A target without
 *  schemas is asked for JSON. */
export const fitForm = (
  prompt: Prompt,
  dropped: DroppedFields,
  traits: TargetFacts['traits'] = {},
): Prompt => {
  const { form, turns } = prompt
  if (form?.type === 'schema' && traits.structured === false && describesObject(form.schema))
    return { ...requestForm(prompt, dropped), form: { type: 'json' } }
  if (form?.type === 'json') return namesJson(turns) ? prompt : withSystem(prompt, JSON_REQUEST)
  return !form || describesObject(form.schema) ? prompt : requestForm(prompt, dropped)
}
