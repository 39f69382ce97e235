/** Converts plain settings and structured output: most in `generationConfig`, some beside it. */
import type { Json } from '../../../engine/plugin.ts'
import type { Loss, TargetFacts } from '../codec.ts'
import { entryOf, type Fields, inner, isFields, present, wordIn } from '../fields.ts'
import type { Form, Settings } from '../hub.ts'
import { bad, type Given } from './given.ts'
import { jsonSchema } from './open-api.ts'
import { openApi } from './schema.ts'
import type { Traits } from './traits.ts'

type Read = (given: Given, name: string) => Json | undefined
const number: Read = (given, name) => given.number(name)
const texts: Read = (given, name) => (given.has(name) ? given.texts(name) : undefined)
const flag: Read = (given, name) => given.flag(name)
const object: Read = (given, name) => given.object(name)?.fields

/** Hub name -> name in `generationConfig`. */
const CONFIG = {
  limit: ['maxOutputTokens', number],
  temperature: ['temperature', number],
  topP: ['topP', number],
  topK: ['topK', number],
  stops: ['stopSequences', texts],
  candidates: ['candidateCount', number],
  seed: ['seed', number],
  frequencyPenalty: ['frequencyPenalty', number],
  presencePenalty: ['presencePenalty', number],
  logprobs: ['responseLogprobs', flag],
  alternatives: ['logprobs', number],
  modalities: ['responseModalities', (given, name) => lower(texts(given, name))],
  audio: ['speechConfig', (given, name) => spoken(given.object(name))],
} as const satisfies Partial<Record<keyof Settings, readonly [string, Read]>>
/** Hub name -> name beside `generationConfig`. */
const BESIDE = {
  safety: ['safetySettings', (given, name) => (given.has(name) ? given.list(name) : undefined)],
  metadata: ['labels', object],
  tier: ['serviceTier', (given, name) => given.text(name)],
} as const satisfies Partial<Record<keyof Settings, readonly [string, Read]>>

export const SETTINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(CONFIG).map(([name, [key]]) => [name, `generationConfig.${key}`]),
  ),
  ...Object.fromEntries(Object.entries(BESIDE).map(([name, [key]]) => [name, key])),
  thinking: 'generationConfig.thinkingConfig',
  form: 'generationConfig.responseMimeType',
  choice: 'toolConfig',
}

const lower = (words: Json | undefined): Json | undefined =>
  Array.isArray(words) ? words.map(word => String(word).toLowerCase()) : undefined
/** `{voice, format}`; a voice configuration of another shape stays as it is. */
const spoken = (given: Given | undefined): Json | undefined => {
  if (!given) return undefined
  const voice = wordIn(
    inner(inner(given.fields, 'voiceConfig'), 'prebuiltVoiceConfig'),
    'voiceName',
  )
  return voice === undefined ? given.fields : { voice }
}

export const readSettings = (body: Given, config: Given | undefined): Settings => {
  const settings: { [key: string]: Json } = {}
  const read = (given: Given, table: Readonly<Record<string, readonly [string, Read]>>): void => {
    for (const [name, [key, reader]] of Object.entries(table)) {
      const value = reader(given, key)
      if (value !== undefined) settings[name] = value
    }
  }
  if (config) read(config, CONFIG)
  read(body, BESIDE)
  return settings
}

// ---------------------------------------------------------------- encoding

type Write = (value: Json, context: Writing) => Json | undefined
interface Writing {
  readonly dropped: Loss
  readonly traits: Traits
  readonly output: number | undefined
}
const MOST_STOPS = 5
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
    if (value.length > MOST_STOPS) dropped.drop('stops')
    return value.length === 0 ? undefined : value.slice(0, MOST_STOPS)
  },
  modalities: value =>
    Array.isArray(value) ? value.map(each => String(each).toUpperCase()) : undefined,
  audio: (value, { dropped }) => {
    if (!isFields(value)) return undefined
    const { voice, ...rest } = value
    if (typeof voice !== 'string') return value
    for (const key in rest) if (rest[key] !== 'pcm16') dropped.drop(`audio.${key}`)
    return { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } }
  },
  metadata: (value, { dropped, traits }) => {
    if (traits.vertex) return value
    if (isFields(value) && Object.keys(value).length > 0) dropped.drop('metadata')
    return undefined
  },
  tier: (value, { dropped }) => {
    const tier = String(value).toLowerCase()
    if (!Object.hasOwn(TIERS, tier)) dropped.drop('tier')
    return entryOf(TIERS, tier)
  },
}
/** Values that request nothing, of settings without a name in this format. */
const IDLE: Readonly<Record<string, Json>> = {
  parallel: true,
  store: false,
  background: false,
  verbosity: 'medium',
}

/** Reports settings without a name in this format. */
export const writeSettings = (
  settings: Settings,
  { output }: TargetFacts,
  traits: Traits,
  dropped: Loss,
): { readonly config: Fields; readonly beside: Fields } => {
  const config: { [key: string]: Json | undefined } = {}
  const beside: { [key: string]: Json | undefined } = {}
  for (const [name, value] of Object.entries(settings) as [string, Json][]) {
    const writer = WRITERS[name]
    const written = writer ? writer(value, { dropped, traits, output }) : value
    if (name in CONFIG) config[CONFIG[name as keyof typeof CONFIG][0]] = written
    else if (name in BESIDE) beside[BESIDE[name as keyof typeof BESIDE][0]] = written
    else if (IDLE[name] !== value) dropped.drop(name)
  }
  return { config: present(config), beside: present(beside) }
}

// ---------------------------------------------------------------- structured output

const JSON_TYPE = 'application/json'
const PLAIN = new Set(['', 'text/plain'])

export const readForm = (config: Given, dropped: Loss): Form | undefined => {
  const type = config.text('responseMimeType') ?? ''
  const plain = config.object('responseJsonSchema')?.fields
  const own = config.object('responseSchema')?.fields
  const schema = plain ?? (own && jsonSchema(own))
  if (schema && (type === JSON_TYPE || type === '')) return { type: 'schema', schema }
  if (type === JSON_TYPE) return { type: 'json' }
  if (type === 'text/x.enum') dropped.drop(config.place('responseMimeType'))
  else if (!PLAIN.has(type)) throw bad(config.place('responseMimeType'), `expected ${JSON_TYPE}`)
  return undefined
}

export const writeForm = (form: Form, { jsonSchema: takesAny }: Traits, dropped: Loss): Fields => {
  if (form.type === 'json') return { responseMimeType: JSON_TYPE }
  const { description } = form
  const schema = isFields(form.schema) ? form.schema : {}
  const described =
    description === undefined || 'description' in schema ? schema : { ...schema, description }
  return takesAny
    ? { responseMimeType: JSON_TYPE, responseJsonSchema: described }
    : {
        responseMimeType: JSON_TYPE,
        responseSchema: openApi(described, word => dropped.drop(`schema.${word}`)),
      }
}
