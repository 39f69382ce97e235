/** Answers in a form of the client's, both ways: by the member for it, by a tool on models that lack it, or by words. */
import type { Json } from '../../../engine/plugin.ts'
import type { TargetFacts } from '../codec.ts'
import { type Fields, isFields } from '../fields.ts'
import type { Form, Prompt } from '../hub.ts'
import { misplaced, neededObject, neededText, object } from './read.ts'

/** The tool that stands for the form. Its name tells the answer's reader, who turns the call back into text. */
export const FORM_TOOL = 'tollgate_answer_in_form'

export const readForm = (body: Fields): { readonly form?: Form } => {
  const config = object(body, 'output_config', '') ?? {}
  const inside = object(config, 'format', 'output_config')
  const format = inside ?? object(body, 'output_format', '')
  if (!format) return {}
  const at = inside ? 'output_config.format' : 'output_format'
  const type = neededText(format, 'type', at)
  if (type !== 'json_schema') misplaced(`${at}.type`, `'${type}'`)
  return { form: { type: 'schema', schema: neededObject(format, 'schema', at) } }
}

/** What asks for the form, wherever it goes. */
export interface Asked {
  readonly format?: Fields
  readonly tool?: Fields
  /** To be said in the system prompt. */
  readonly words?: string
}
export const writeForm = ({ form, tools }: Prompt, target: TargetFacts, thinks: boolean): Asked => {
  if (!form) return {}
  if (form.type === 'json') return { words: 'Answer with one valid JSON object and nothing else.' }
  const { schema } = form
  if (target.traits.structured !== false)
    return { format: { type: 'json_schema', schema: closed(described(schema, form)) } }
  // A tool that must be called leaves no room for others, nor for thoughts.
  if (thinks || tools.length > 0 || !isFields(schema) || schema.type !== 'object')
    return {
      words: `Answer with JSON that fits this schema, and nothing else: ${JSON.stringify(schema)}`,
    }
  const description = form.description ?? 'Gives the answer. It must be called once.'
  return { tool: { name: FORM_TOOL, description, input_schema: schema } }
}

/** Only the schema itself can say what it is about. */
const described = (schema: Json, { description }: Extract<Form, { type: 'schema' }>): Json =>
  description === undefined || !isFields(schema) || 'description' in schema
    ? schema
    : { ...schema, description }

/** This format insists that objects say they are closed. */
const closed = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (!isFields(schema)) return schema
  const inside: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(schema)) inside[key] = within(key, value)
  if (schema.type === 'object' && schema.additionalProperties === undefined)
    inside.additionalProperties = false
  return inside
}
const within = (key: string, value: Json): Json => {
  if (LITERAL.has(key)) return value
  if (!NAMED.has(key) || !isFields(value)) return closed(value)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each)]))
}
/** Members that hold values, and those that hold schemas by names of the client's. */
const LITERAL: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required'])
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
