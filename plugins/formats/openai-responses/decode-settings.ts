/** Decodes settings, thinking and structured output of a client's request. Plain values are a
 *  table. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  flagIn,
  listIn,
  numberIn,
  presentFieldsIn,
  requireMember,
  textIn,
} from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Form, Prompt, Settings, Thinking } from '../hub/prompt.ts'
import type { SettingAliases } from '../hub/setting-aliases.ts'
import { nullFacts } from '../json/null-members.ts'

export { OPENAI_TIERS } from '../tiers.ts'

/** Null members that the types of the provider permit, and members with the client's data. */
export const NULLS = nullFacts(
  `acknowledged_safety_checks allowed_callers allowed_domains allowed_tools annotations
 approval_request_id arguments attributes call_id caller city code compact_threshold
 comparison_response_id content context context_management conversation country
 encrypted_content environment filters generate_summary headers include input_fidelity
 input_schema instructions keys max_output_length max_output_tokens max_tool_calls
 memory_limit message metadata output output_schema outputs parallel_tool_calls param
 parameters phase policy previous_response_id prompt prompt_cache_key prompt_cache_retention
 reason region require_approval result results revised_prompt safety_identifier service_tier
 store stream stream_options strict summary temperature timeout_ms timezone top_logprobs
 top_p truncation url user_location variables verbosity working_directory`,
  'arguments attributes headers input_schema metadata output_schema parameters schema variables',
)

type Reader = (fields: Fields, key: string, at?: string) => Json | undefined
type Row = readonly [key: string, read: Reader]

/** Hub name -> name in this format. */
export const PLAIN_SETTINGS: Readonly<Partial<Record<keyof Settings, Row>>> = {
  limit: ['max_output_tokens', numberIn],
  temperature: ['temperature', numberIn],
  topP: ['top_p', numberIn],
  alternatives: ['top_logprobs', numberIn],
  parallel: ['parallel_tool_calls', flagIn],
  metadata: ['metadata', fieldsIn],
  tier: ['service_tier', textIn],
  store: ['store', flagIn],
  background: ['background', flagIn],
  cacheKey: ['prompt_cache_key', textIn],
  cacheOptions: ['prompt_cache_options', presentFieldsIn],
  cacheRetention: ['prompt_cache_retention', textIn],
  moderation: ['moderation', fieldsIn],
  user: ['safety_identifier', textIn],
}
export const ALIASES: SettingAliases = { user: ['safety_identifier', 'user'] }
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs'
export const INCLUDE_THOUGHTS = 'reasoning.encrypted_content'

export const SETTING_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(PLAIN_SETTINGS).map(([name, [key]]) => [name, key])),
  // Clients that use `safety_identifier` are recorded in `clientNames`.
  user: 'user',
  turns: 'input',
  verbosity: 'text.verbosity',
  thinking: 'reasoning',
  form: 'text.format',
  choice: 'tool_choice',
  logprobs: `include[${INCLUDE_LOGPROBS}]`,
}

// ---------------------------------------------------------------- read

/** Fields that are decoded elsewhere or have no meaning of their own. */
const DECODED_FIELDS: ReadonlySet<string> = new Set([
  ...Object.values(PLAIN_SETTINGS).map(([key]) => key),
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'max_tool_calls',
  'include',
  'reasoning',
  'text',
  'user',
  'previous_response_id',
  'conversation',
  'cache_control',
])
const NOT_TRUNCATED_FIELDS: ReadonlySet<string> = new Set([...DECODED_FIELDS, 'truncation'])
const TEXT_FIELDS: ReadonlySet<string> = new Set(['format', 'verbosity'])
/** Values of `include` that are always included or change nothing. */
const SUPPORTED_INCLUDES: ReadonlySet<string> = new Set([
  INCLUDE_THOUGHTS,
  INCLUDE_LOGPROBS,
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
])

const PLAIN_ROWS = Object.entries(PLAIN_SETTINGS)
export const readSettings = (body: Fields, dropped: DroppedFields): Settings => {
  const settings: { [name: string]: Json } = {}
  for (const [name, [key, reader]] of PLAIN_ROWS) {
    const value = reader(body, key)
    if (value !== undefined) settings[name] = value
  }
  const user = settings.user ?? textIn(body, 'user')
  const text = fieldsIn(body, 'text') ?? {}
  const verbosity = textIn(text, 'verbosity', 'text.verbosity')
  const include = listIn(body, 'include') ?? []
  for (const item of include)
    if (typeof item !== 'string' || !SUPPORTED_INCLUDES.has(item)) dropped.add(`include[${item}]`)
  const decodedFields = body.truncation === 'disabled' ? NOT_TRUNCATED_FIELDS : DECODED_FIELDS
  reportUnknown(body, decodedFields, '', dropped)
  reportUnknown(text, TEXT_FIELDS, 'text', dropped)
  return {
    ...settings,
    ...(user !== undefined && { user: user as string }),
    ...(verbosity !== undefined && { verbosity }),
    ...(include.includes(INCLUDE_LOGPROBS) && { logprobs: true }),
  }
}
/** Reports the fields that are not in `knownNames`. */
export const reportUnknown = (
  fields: Fields,
  knownNames: ReadonlySet<string>,
  at: string,
  dropped: DroppedFields,
): void => {
  for (const key in fields)
    if (!knownNames.has(key) && fields[key] !== null) dropped.add(at === '' ? key : `${at}.${key}`)
}

export const readThinking = (body: Fields, dropped: DroppedFields): Thinking | undefined => {
  const reasoning = fieldsIn(body, 'reasoning')
  if (!reasoning) return undefined
  reportUnknown(reasoning, REASONING_FIELDS, 'reasoning', dropped)
  const effort = textIn(reasoning, 'effort', 'reasoning.effort')
  const summary =
    textIn(reasoning, 'summary', 'reasoning.summary') ??
    textIn(reasoning, 'generate_summary', 'reasoning.generate_summary')
  const show = summary === undefined ? {} : { show: summary !== 'none' }
  if (effort === 'none') return { mode: 'off', effort, ...show }
  if (effort !== undefined) return { mode: 'effort', effort, ...show }
  return summary === undefined ? undefined : { mode: 'adaptive', ...show }
}

const REASONING_FIELDS: ReadonlySet<string> = new Set(['effort', 'summary', 'generate_summary'])

export const readForm = (body: Fields): Form | undefined => {
  const format = fieldsIn(fieldsIn(body, 'text') ?? {}, 'format', 'text.format')
  const type = format && textIn(format, 'type', 'text.format.type')
  if (!format || type === undefined || type === 'text') return undefined
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema')
    throw fault('MEMBER_VALUE', ['text.format.type', `'${type}' is not known`], { param: 'text' })
  const name = textIn(format, 'name', 'text.format.name')
  const description = textIn(format, 'description', 'text.format.description')
  const strict = flagIn(format, 'strict', 'text.format.strict')
  return {
    type: 'schema',
    schema: requireMember(fieldsIn(format, 'schema', 'text.format.schema'), 'text.format.schema'),
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }
}

export const readPrevious = (body: Fields): Prompt['previous'] => {
  const answer = textIn(body, 'previous_response_id')
  const value = body.conversation
  const conversation =
    typeof value === 'string'
      ? value
      : textIn(fieldsIn(body, 'conversation') ?? {}, 'id', 'conversation.id')
  if (answer === undefined && conversation === undefined) return undefined
  return {
    ...(answer !== undefined && { answer }),
    ...(conversation !== undefined && { conversation }),
  }
}
