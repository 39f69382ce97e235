/** Maps plain settings of a chat request to and from the hub. */
import type { Json } from '../../../engine/plugin.ts'
import { shortenForOpenai, userName } from '../end-user.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  flagIn,
  isFields,
  listIn,
  numberIn,
  omitUndefined,
  presentFieldsIn,
  textIn,
} from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Form, Prompt, Settings, Thinking } from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { SAMPLING, withoutSampling } from '../hub/sampling.ts'
import type { SettingAliases } from '../hub/setting-aliases.ts'
import { nullFacts } from '../json/null-members.ts'
import { schemaName, strictly } from '../openai-strict.ts'

/** Null members that the types of the provider permit, and members with the client's data. */
export const NULLS = nullFacts(
  `audio content frequency_penalty logit_bias logprobs max_completion_tokens max_tokens
 metadata modalities moderation n prediction presence_penalty prompt_cache_key
 prompt_cache_retention reasoning_effort refusal safety_identifier seed service_tier stop
 store stream stream_options strict temperature top_logprobs top_p user_location verbosity`,
  'chat_template_kwargs guided_json json logit_bias metadata parameters reasoning_details schema',
)

/** Hub name -> name in this format. */
export const SETTINGS = {
  limit: 'max_completion_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  stops: 'stop',
  candidates: 'n',
  seed: 'seed',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  bias: 'logit_bias',
  logprobs: 'logprobs',
  alternatives: 'top_logprobs',
  parallel: 'parallel_tool_calls',
  user: 'user',
  metadata: 'metadata',
  tier: 'service_tier',
  store: 'store',
  verbosity: 'verbosity',
  cacheKey: 'prompt_cache_key',
  cacheOptions: 'prompt_cache_options',
  cacheRetention: 'prompt_cache_retention',
  moderation: 'moderation',
  modalities: 'modalities',
  audio: 'audio',
} as const satisfies Partial<Record<keyof Settings, string>>

export const ALIASES: SettingAliases = {
  limit: ['max_completion_tokens', 'max_tokens'],
  user: ['safety_identifier', 'user'],
}
/** The names that clients of this format use, including fields that are not plain settings. */
export const NAMES: Readonly<Record<string, string>> = {
  ...SETTINGS,
  turns: 'messages',
  thinking: 'reasoning_effort',
  form: 'response_format',
  choice: 'tool_choice',
}

type Reader = (body: Fields, key: string) => Json | undefined
const readTexts: Reader = (body, key) => {
  const list = listIn(body, key)
  if (!list || list.every(each => typeof each === 'string')) return list
  throw fault('MEMBER_TYPE', [key, 'an array of strings'], { param: key })
}
const READERS: Readonly<Record<keyof typeof SETTINGS, Reader>> = {
  limit: (body, key) => numberIn(body, key) ?? numberIn(body, 'max_tokens'),
  temperature: numberIn,
  topP: numberIn,
  stops: (body, key) => (typeof body[key] === 'string' ? [body[key]] : readTexts(body, key)),
  candidates: numberIn,
  seed: numberIn,
  frequencyPenalty: numberIn,
  presencePenalty: numberIn,
  bias: (body, key) => body[key] ?? undefined,
  logprobs: flagIn,
  alternatives: numberIn,
  parallel: flagIn,
  user: (body, key) => textIn(body, 'safety_identifier') ?? textIn(body, key),
  metadata: (body, key) => body[key] ?? undefined,
  tier: textIn,
  store: flagIn,
  verbosity: textIn,
  cacheKey: textIn,
  cacheOptions: presentFieldsIn,
  cacheRetention: textIn,
  moderation: fieldsIn,
  modalities: readTexts,
  audio: (body, key) => body[key] ?? undefined,
}

const ROWS = Object.entries(SETTINGS).map(
  ([name, key]) => [name, key, READERS[name as keyof typeof SETTINGS]] as const,
)
export const readSettings = (body: Fields): Settings => {
  const settings: { [key: string]: Json } = {}
  for (const [name, key, read] of ROWS) {
    const value = read(body, key)
    if (value !== undefined) settings[name] = value
  }
  return settings
}

type Writer = (value: Json, dropped: DroppedFields) => Json
const MAX_STOPS = 4
const WRITERS: Readonly<Partial<Record<keyof Settings, Writer>>> = {
  user: shortenForOpenai,
  cacheKey: shortenForOpenai,
  cacheOptions: (value, dropped) => {
    const { mode, ttl, ...others } = isFields(value) ? value : {}
    for (const name in others) dropped.add(`prompt_cache_options.${name}`)
    return omitUndefined({ mode, ttl })
  },
  stops: (value, dropped) => {
    if (!Array.isArray(value) || value.length <= MAX_STOPS) return value
    dropped.add('stops')
    return value.slice(0, MAX_STOPS)
  },
}

/** OpenAI's models that think refuse these as well. */
const REFUSED: readonly (keyof Settings)[] = [...SAMPLING, 'stops', 'bias']

/** Reports settings without a name in this format. */
export const writeSettings = (
  prompt: Pick<Prompt, 'settings' | 'clientNames'>,
  target: Pick<TargetFacts, 'traits'>,
  dropped: DroppedFields,
): Fields => {
  const body: { [key: string]: Json } = {}
  const sampled = withoutSampling(prompt.settings, REFUSED, target, dropped)
  const keys: Readonly<Record<string, string>> = { ...SETTINGS, ...userName(prompt) }
  for (const [name, value] of Object.entries(fitAnswer(sampled, dropped)) as [string, Json][]) {
    const key = keys[name]
    if (key === undefined) dropped.add(name)
    else body[key] = WRITERS[name as keyof Settings]?.(value, dropped) ?? value
  }
  return body
}

/** The modalities of answers of this format. */
const MODALITIES: readonly string[] = ['text', 'audio']
const VOICES: ReadonlySet<Json> = new Set(
  'alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse'.split(' '),
)
/** Settings that the provider takes together only: metadata with storage, audio with its voice and
 *  format. Images it never answers with. */
const fitAnswer = (settings: Settings, dropped: DroppedFields): Settings => {
  const { metadata, modalities, audio, ...others } = settings
  const isStored = metadata === undefined || settings.store === true
  if (!isStored) dropped.add('metadata')
  const requested = modalities?.map(each => each.toLowerCase())
  const kinds = requested?.filter(each => MODALITIES.includes(each))
  if (requested && kinds && kinds.length < requested.length) dropped.add('modalities')
  const speaks = kinds?.includes('audio') === true
  if (audio !== undefined && !speaks) dropped.add('audio')
  return {
    ...others,
    ...(isStored && metadata !== undefined && { metadata }),
    // The provider answers with audio only together with text.
    ...(speaks && { modalities: ['text', 'audio'], audio: audioOf(audio, dropped) }),
  }
}
const audioOf = (audio: Json | undefined, dropped: DroppedFields): Json => {
  const { voice, ...others } = isFields(audio) ? audio : {}
  const isKnown = isFields(voice) || VOICES.has(voice ?? '')
  if (!isKnown && voice !== undefined) dropped.add('audio')
  return { voice: isKnown && voice ? voice : 'alloy', format: others.format ?? 'pcm16' }
}

// ---------------------------------------------------------------- structured output

export const readForm = (body: Fields): Form | undefined => {
  const { response_format: responseFormat } = body
  const form = responseFormat as Fields | null | undefined
  if (!form || typeof form !== 'object' || form.type === 'text') return undefined
  if (form.type !== 'json_schema') return { type: 'json' }
  const jsonSchema = (form.json_schema ?? {}) as Fields
  const name = textIn(jsonSchema, 'name', 'response_format.json_schema.name')
  const description = textIn(jsonSchema, 'description', 'response_format.json_schema.description')
  const strict = flagIn(jsonSchema, 'strict', 'response_format.json_schema.strict')
  return {
    type: 'schema',
    schema: jsonSchema.schema ?? {},
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }
}
export const writeForm = (form: Form, dropped: DroppedFields): Fields => {
  if (form.type === 'json') return { type: 'json_object' }
  const { description } = form
  const name = schemaName(form.name)
  const { schema, strict } = strictly(objectSchema(form.schema), form.strict, 'form', dropped)
  return { type: 'json_schema', json_schema: omitUndefined({ name, description, schema, strict }) }
}

// ---------------------------------------------------------------- thinking

export const readThinking = (body: Fields): Thinking | undefined => {
  const effort = textIn(body, 'reasoning_effort')
  if (effort === undefined) return undefined
  return effort === 'none' ? { mode: 'off' } : { mode: 'effort', effort }
}
/** Thinking budget in tokens -> effort. */
const EFFORTS: readonly (readonly [most: number, effort: string])[] = [
  [1024, 'low'],
  [8192, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
]
export const writeThinking = ({ mode, effort, budget }: Thinking): string | undefined => {
  if (mode === 'off') return 'none'
  if (effort !== undefined) return effort
  return budget === undefined ? undefined : EFFORTS.find(([maxBudget]) => budget <= maxBudget)?.[1]
}
