/** Structured output: through the format's own field, through a tool on models without that field,
 *  or through instructions. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'
import type { TargetFacts } from '../hub/codec.ts'
import type { Form, Prompt } from '../hub/prompt.ts'
import { objectIn, rejectValue, requiredObject, requiredText } from './members.ts'

/** The tool that stands in for structured output. The decoder recognises it by its name and
 *  converts the call back to text. */
export const FORM_TOOL_NAME = 'tollgate_answer_in_form'

export const readForm = (body: Fields): { readonly form?: Form } => {
  const config = objectIn(body, 'output_config', '') ?? {}
  const current = objectIn(config, 'format', 'output_config')
  const format = current ?? objectIn(body, 'output_format', '')
  if (!format) return {}
  const at = current ? 'output_config.format' : 'output_format'
  const type = requiredText(format, 'type', at)
  if (type !== 'json_schema') rejectValue(`${at}.type`, `'${type}'`)
  return { form: { type: 'schema', schema: requiredObject(format, 'schema', at) } }
}

/** The parts of a request that ask for structured output. */
export interface FormRequest {
  readonly format?: Fields
  readonly tool?: Fields
  /** Instructions for the system prompt. */
  readonly instructions?: string
}
export const writeForm = (
  { form, tools }: Prompt,
  target: TargetFacts,
  thinks: boolean,
): FormRequest => {
  if (!form) return {}
  if (form.type === 'json')
    return { instructions: 'Answer with one valid JSON object and nothing else.' }
  const { schema } = form
  if (target.traits.structured !== false)
    return { format: { type: 'json_schema', schema: closeObjects(withDescription(schema, form)) } }
  // A forced tool leaves no room for other tools or for thinking.
  if (thinks || tools.length > 0 || !isFields(schema) || schema.type !== 'object')
    return {
      instructions: `Answer with JSON that fits this schema, and nothing else: ${JSON.stringify(schema)}`,
    }
  const description = form.description ?? 'Gives the answer. It must be called once.'
  return { tool: { name: FORM_TOOL_NAME, description, input_schema: schema } }
}

/** Moves the description into the schema, the only field for it. */
const withDescription = (schema: Json, { description }: Extract<Form, { type: 'schema' }>): Json =>
  description === undefined || !isFields(schema) || 'description' in schema
    ? schema
    : { ...schema, description }

/** Adds `additionalProperties: false` to objects, which this format requires. */
const closeObjects = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(closeObjects)
  if (!isFields(schema)) return schema
  const result: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(schema)) result[key] = closeMember(key, value)
  if (schema.type === 'object' && schema.additionalProperties === undefined)
    result.additionalProperties = false
  return result
}
const closeMember = (key: string, value: Json): Json => {
  if (VALUE_KEYWORDS.has(key)) return value
  if (!MAP_KEYWORDS.has(key) || !isFields(value)) return closeObjects(value)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closeObjects(each)]))
}
/** Schema members that hold values, and members that map the client's names to schemas. */
const VALUE_KEYWORDS: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
])
const MAP_KEYWORDS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])
