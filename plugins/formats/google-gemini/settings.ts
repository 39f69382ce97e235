/** Converts plain settings and structured output: most in `generationConfig`, some beside it. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientText,
  lookUp,
  omitUndefined,
} from '../fields.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import { requestForm } from '../hub/form-request.ts'
import type { Form, Prompt, Settings } from '../hub/prompt.ts'
import { SAMPLING, withoutSampling } from '../hub/sampling.ts'
import { nullFacts } from '../json/null-members.ts'
import { convertToJsonSchema } from './open-api.ts'
import { convertToOpenApi } from './schema.ts'
import type { Traits } from './traits.ts'

/** Null members that the types of the provider permit, and members with the client's data. */
export const NULLS = nullFacts(
  '',
  `args default example labels parametersJsonSchema parameters_json_schema response
   responseJsonSchema response_json_schema`,
)

type Read = (object: RequestObject, name: string) => Json | undefined
const readNumber: Read = (object, name) => object.number(name)
const readTexts: Read = (object, name) => (object.has(name) ? object.texts(name) : undefined)
const readFlag: Read = (object, name) => object.flag(name)
const readObject: Read = (readObject, name) => readObject.object(name)?.fields

/** Hub name -> name in `generationConfig`. */
const CONFIG = {
  limit: ['maxOutputTokens', readNumber],
  temperature: ['temperature', readNumber],
  topP: ['topP', readNumber],
  topK: ['topK', readNumber],
  stops: ['stopSequences', readTexts],
  candidates: ['candidateCount', readNumber],
  seed: ['seed', readNumber],
  frequencyPenalty: ['frequencyPenalty', readNumber],
  presencePenalty: ['presencePenalty', readNumber],
  logprobs: ['responseLogprobs', readFlag],
  alternatives: ['logprobs', readNumber],
  modalities: ['responseModalities', (object, name) => toLowerCase(readTexts(object, name))],
  audio: ['speechConfig', (object, name) => voiceOf(object.object(name))],
} as const satisfies Partial<Record<keyof Settings, readonly [string, Read]>>
/** Hub name -> name beside `generationConfig`. */
const BESIDE = {
  safety: ['safetySettings', (object, name) => (object.has(name) ? object.list(name) : undefined)],
  metadata: ['labels', readObject],
  tier: ['serviceTier', (object, name) => object.text(name)],
} as const satisfies Partial<Record<keyof Settings, readonly [string, Read]>>

export const SETTINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(CONFIG).map(([name, [key]]) => [name, `generationConfig.${key}`]),
  ),
  ...Object.fromEntries(Object.entries(BESIDE).map(([name, [key]]) => [name, key])),
  turns: 'contents',
  thinking: 'generationConfig.thinkingConfig',
  form: 'generationConfig.responseMimeType',
  choice: 'toolConfig',
  tool_choice: 'toolConfig',
  strict: 'toolConfig.functionCallingConfig.mode',
  filename: 'displayName',
  detail: 'mediaResolution',
  blocked_domains: 'googleSearch.excludeDomains',
  'googleSearch.blocked_domains': 'googleSearch.excludeDomains',
}

const toLowerCase = (list: Json | undefined): Json | undefined =>
  Array.isArray(list) ? list.map(word => String(word).toLowerCase()) : undefined
/** `{voice, format}`; a voice configuration of another shape stays unchanged. */
const voiceOf = (object: RequestObject | undefined): Json | undefined => {
  if (!object) return undefined
  const voice = lenientText(
    lenientObject(lenientObject(object.fields, 'voiceConfig'), 'prebuiltVoiceConfig'),
    'voiceName',
  )
  return voice === undefined ? object.fields : { voice }
}

export const readSettings = (body: RequestObject, config: RequestObject | undefined): Settings => {
  const settings: { [key: string]: Json } = {}
  const read = (object: RequestObject, table: typeof CONFIG_ROWS): void => {
    for (const [name, [key, reader]] of table) {
      const value = reader(object, key)
      if (value !== undefined) settings[name] = value
    }
  }
  if (config) read(config, CONFIG_ROWS)
  read(body, BESIDE_ROWS)
  return settings
}
const rowsOf = (table: Readonly<Record<string, readonly [string, Read]>>) => Object.entries(table)
const [CONFIG_ROWS, BESIDE_ROWS] = [rowsOf(CONFIG), rowsOf(BESIDE)]

// ---------------------------------------------------------------- encoding

type Write = (value: Json, context: WriteContext) => Json | undefined
interface WriteContext {
  readonly dropped: DroppedFields
  readonly traits: Traits
  readonly output: number | undefined
}
const MAX_STOPS = 5
/** Service tiers of the hub (OpenAI's names) and of Google -> Google's; undefined: the provider's
 *  default. */
const TIERS: Readonly<Record<string, string | undefined>> = {
  auto: undefined,
  default: 'standard',
  standard: 'standard',
  flex: 'flex',
  priority: 'priority',
}
/** Settings whose values are converted. */
const WRITERS: Readonly<Record<string, Write>> = {
  limit: (value, { output }) => Math.min(Number(value), output ?? Number(value)),
  stops: (value, { dropped }) => {
    if (!Array.isArray(value)) return undefined
    if (value.length > MAX_STOPS) dropped.add('stops')
    return value.length === 0 ? undefined : value.slice(0, MAX_STOPS)
  },
  modalities: value =>
    Array.isArray(value) ? value.map(each => String(each).toUpperCase()) : undefined,
  audio: (value, { dropped }) => {
    if (!isFields(value)) return undefined
    const { voice, ...rest } = value
    if (isFields(voice)) {
      // A voice that its client made at another provider.
      dropped.add('audio')
      return undefined
    }
    if (typeof voice !== 'string') return value
    for (const key in rest) if (rest[key] !== 'pcm16') dropped.add(`audio.${key}`)
    return { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } }
  },
  metadata: (value, { dropped, traits }) => {
    if (traits.isVertex) return value
    if (isFields(value) && Object.keys(value).length > 0) dropped.add('metadata')
    return undefined
  },
  tier: (value, { dropped }) => {
    const tier = String(value).toLowerCase()
    if (!Object.hasOwn(TIERS, tier)) dropped.add('tier')
    return lookUp(TIERS, tier)
  },
}
/** Values that request nothing, of settings without a name in this format. */
const NEUTRAL_VALUES: Readonly<Record<string, Json>> = {
  parallel: true,
  store: false,
  background: false,
  verbosity: 'medium',
}

/** Reports settings without a name in this format. */
export const writeSettings = (
  settings: Settings,
  target: TargetFacts,
  traits: Traits,
  dropped: DroppedFields,
): { readonly config: Fields; readonly beside: Fields } => {
  const config: { [key: string]: Json | undefined } = {}
  const beside: { [key: string]: Json | undefined } = {}
  const sampled = withoutSampling(settings, SAMPLING, target, dropped)
  for (const [name, value] of Object.entries(sampled) as [string, Json][]) {
    const writer = WRITERS[name]
    const wireValue = writer ? writer(value, { dropped, traits, output: target.maxOutput }) : value
    if (name in CONFIG) config[CONFIG[name as keyof typeof CONFIG][0]] = wireValue
    else if (name in BESIDE) beside[BESIDE[name as keyof typeof BESIDE][0]] = wireValue
    else if (NEUTRAL_VALUES[name] !== value) dropped.add(name)
  }
  return { config: omitUndefined(config), beside: omitUndefined(beside) }
}

// ---------------------------------------------------------------- structured output

const JSON_TYPE = 'application/json'
const TEXT_TYPES = new Set(['', 'text/plain'])

export const readForm = (config: RequestObject, dropped: DroppedFields): Form | undefined => {
  const type = config.text('responseMimeType') ?? ''
  const jsonSchemaFields = config.object('responseJsonSchema')?.fields
  const openApiFields = config.object('responseSchema')?.fields
  const schema = jsonSchemaFields ?? (openApiFields && convertToJsonSchema(openApiFields))
  if (schema && (type === JSON_TYPE || type === '')) return { type: 'schema', schema, strict: true }
  if (type === JSON_TYPE) return { type: 'json' }
  if (type === 'text/x.enum') dropped.add(config.pathOf('responseMimeType'))
  else if (!TEXT_TYPES.has(type))
    throw valueFault(config.pathOf('responseMimeType'), `expected ${JSON_TYPE}`)
  return undefined
}

/** Models that take no JSON beside tools (before 3.x) are asked for it in words; if no tool may be
 *  called, the tools are left out. */
export const fitForm = (prompt: Prompt, { mixesTools }: Traits, dropped: DroppedFields): Prompt => {
  const { form, tools, choice, turns } = prompt
  if (!form || tools.length === 0 || mixesTools) return prompt
  const hasCalls = turns.some(({ content }) => content.some(({ type }) => type === 'call'))
  if (choice?.type === 'none' && !hasCalls) return { ...prompt, tools: [] }
  if (form.type === 'schema' && !form.strict) dropped.add('form')
  return requestForm(prompt, dropped)
}

export const writeForm = (
  form: Form,
  { takesJsonSchema }: Traits,
  dropped: DroppedFields,
): Fields => {
  if (form.type === 'json') return { responseMimeType: JSON_TYPE }
  const { description } = form
  const schema = isFields(form.schema) ? form.schema : {}
  const schemaWithDescription =
    description === undefined || 'description' in schema ? schema : { ...schema, description }
  return takesJsonSchema
    ? { responseMimeType: JSON_TYPE, responseJsonSchema: schemaWithDescription }
    : {
        responseMimeType: JSON_TYPE,
        responseSchema: convertToOpenApi(schemaWithDescription, word =>
          dropped.add(`schema.${word}`),
        ),
      }
}
