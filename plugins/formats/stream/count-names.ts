/** Names of members in usage reports. Compatible upstreams spell them in their own ways; one table
 *  has the spellings, each with its source. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'

/** The names of a format. */
interface CountNames {
  readonly input: string
  readonly output: string
  /** Absent: the format has no such member of its own. */
  readonly inputDetails?: string
  readonly outputDetails?: string
  readonly cacheRead?: string
  readonly cacheWrite?: string
  readonly total?: string
  readonly seconds?: string
}

export const CHAT_NAMES: CountNames = {
  input: 'prompt_tokens',
  output: 'completion_tokens',
  inputDetails: 'prompt_tokens_details',
  outputDetails: 'completion_tokens_details',
  total: 'total_tokens',
}
export const RESPONSES_NAMES: CountNames = {
  input: 'input_tokens',
  output: 'output_tokens',
  inputDetails: 'input_tokens_details',
  outputDetails: 'output_tokens_details',
  total: 'total_tokens',
}
/** Of transcriptions and realtime sessions. */
export const AUDIO_NAMES: CountNames = {
  input: 'input_tokens',
  output: 'output_tokens',
  inputDetails: 'input_token_details',
  outputDetails: 'output_token_details',
  seconds: 'seconds',
}

/** In snake case. */
const NAMES: ReadonlyMap<string, keyof CountNames> = new Map([
  // OpenAI's chat. Oracle's Generative AI spells them `promptTokens` and `promptTokensDetails`
  // (`Usage` in its API reference).
  ['prompt_tokens', 'input'],
  ['completion_tokens', 'output'],
  ['prompt_tokens_details', 'inputDetails'],
  ['completion_tokens_details', 'outputDetails'],
  ['total_tokens', 'total'],
  // OpenAI's responses and Anthropic; mlx-vlm's server in chat. Bedrock's Converse spells them
  // `inputTokens` (`TokenUsage`).
  ['input_tokens', 'input'],
  ['output_tokens', 'output'],
  ['input_tokens_details', 'inputDetails'],
  ['output_tokens_details', 'outputDetails'],
  // OpenAI's realtime sessions, speech and transcriptions.
  ['input_token_details', 'inputDetails'],
  ['output_token_details', 'outputDetails'],
  // Google's interactions.
  ['total_input_tokens', 'input'],
  ['total_output_tokens', 'output'],
  // Gemini. Google's Python library spells it `prompt_token_count`.
  ['prompt_token_count', 'input'],
  ['candidates_token_count', 'output'],
  ['total_token_count', 'total'],
  // `amazon-bedrock-invocationMetrics`, which Bedrock adds to the events of models.
  ['input_token_count', 'input'],
  ['output_token_count', 'output'],
  ['cache_read_input_token_count', 'cacheRead'],
  ['cache_write_input_token_count', 'cacheWrite'],
  // watsonx.ai: `input_token_count` and this one (`TextGenResult` in its API reference).
  ['generated_token_count', 'output'],
  // Anthropic, and Converse.
  ['cache_read_input_tokens', 'cacheRead'],
  ['cache_creation_input_tokens', 'cacheWrite'],
  ['cache_write_input_tokens', 'cacheWrite'],
  // Mistral's transcriptions (`UsageInfo` in its API reference).
  ['prompt_audio_seconds', 'seconds'],
])

type Rename = (name: string) => string

/** The counts by a format's own names: its totals, and the case of its members at every depth. A
 *  member that has its own name is not replaced. */
export const withOwnNames = (names: CountNames): ((counts: Fields) => Fields) => {
  const inCase = remembered(names.input.includes('_') ? snakeCase : camelCase)
  const ownName = remembered(name => {
    const part = NAMES.get(snakeCase(name))
    return (part && names[part]) ?? inCase(name)
  })
  return counts => renamed(counts, ownName, inCase)
}
/** Reports repeat their names: each one is converted once. Names are the upstream's: few and short
 *  ones are kept. */
const remembered = (rename: Rename): Rename => {
  const results = new Map<string, string>()
  return name => {
    const known = results.get(name)
    if (known !== undefined) return known
    const result = rename(name)
    if (results.size < MAX_NAMES && name.length <= MAX_NAME_LENGTH) results.set(name, result)
    return result
  }
}
const [MAX_NAMES, MAX_NAME_LENGTH] = [256, 64]
const renamed = (fields: Fields, ownName: Rename, inCase: Rename): Fields => {
  let result: { [name: string]: Json } | undefined
  for (const key in fields) {
    const value = fields[key] ?? null
    const name = ownName(key)
    const content = renamedValue(value, inCase)
    if (name === key && content === value) continue
    result ??= { ...fields }
    if (name === key || (result[name] ?? null) === null) result[name] = content
  }
  return result ?? fields
}
const renamedValue = (value: Json, inCase: Rename): Json => {
  if (typeof value !== 'object' || value === null) return value
  if (isFields(value)) return renamed(value, inCase, inCase)
  if (!Array.isArray(value)) return value
  const list: readonly Json[] = value.map((each: Json) => renamedValue(each, inCase))
  return list.some((each, index) => each !== value[index]) ? list : value
}

const CAPITAL = /[A-Z]/
/** Before a capital, and before a number: `ephemeral5mInputTokens`. */
const BORDER = /(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z])/g
const snakeCase: Rename = name =>
  CAPITAL.test(name) ? name.replace(BORDER, '_').toLowerCase() : name
const camelCase: Rename = name =>
  name.includes('_')
    ? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : name
