/** Structured output: through the format's own field, through a tool on models without that field,
 *  or through instructions. */
import type { Json } from '../../../engine/plugin.ts'
import { subsetOf } from '../closed-schema.ts'
import { type Fields, isFields } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import { JSON_REQUEST, schemaRequest } from '../hub/form-request.ts'
import type { Form, Prompt } from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
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
  // The provider guarantees it.
  return { form: { type: 'schema', schema: requiredObject(format, 'schema', at), strict: true } }
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
  dropped: DroppedFields,
): FormRequest => {
  if (!form) return {}
  if (form.type === 'json') return { instructions: JSON_REQUEST }
  const { schema } = form
  const subset = subsetOf(withDescription(schema, form))
  if (target.traits.structured !== false && subset.isEqual)
    return { format: { type: 'json_schema', schema: subset.schema } }
  if (form.strict) dropped.add('form')
  // A forced tool leaves no room for other tools or for thinking.
  if (thinks || tools.length > 0 || !isFields(schema) || schema.type !== 'object')
    return {
      instructions: schemaRequest(schema),
    }
  const description = form.description ?? 'Gives the answer. It must be called once.'
  return { tool: { name: FORM_TOOL_NAME, description, input_schema: objectSchema(schema) } }
}

/** Moves the description into the schema, the only field for it. */
const withDescription = (schema: Json, { description }: Extract<Form, { type: 'schema' }>): Json =>
  description === undefined || !isFields(schema) || 'description' in schema
    ? schema
    : { ...schema, description }
