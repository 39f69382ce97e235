/** Decodes settings, thinking and structured output of a client's request. */
import type { Json } from '../../../engine/plugin.ts'
import { isFields, lookUp } from '../fields.ts'
import { type RequestObject, valueFault } from '../google/request-object.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Form, Settings, Thinking } from '../hub/prompt.ts'
import { nullFacts } from '../json/null-members.ts'

/** Null members that the types of the provider permit, and members with the client's data. */
export const NULLS = nullFacts('', 'arguments parameters response_format result schema')

type Read = (object: RequestObject, name: string) => Json | undefined
const readNumber: Read = (object, name) => object.number(name)
const readText: Read = (object, name) => object.text(name)
const readFlag: Read = (object, name) => object.flag(name)

/** Hub name -> name in `generation_config`. */
export const CONFIG: Readonly<Partial<Record<keyof Settings, readonly [string, Read]>>> = {
  limit: ['max_output_tokens', readNumber],
  temperature: ['temperature', readNumber],
  topP: ['top_p', readNumber],
  seed: ['seed', readNumber],
  stops: ['stop_sequences', (object, name) => (object.has(name) ? object.texts(name) : undefined)],
}
/** Hub name -> name beside it. */
export const BESIDE: Readonly<Partial<Record<keyof Settings, readonly [string, Read]>>> = {
  metadata: ['labels', (object, name) => object.object(name)?.fields],
  tier: ['service_tier', readText],
  store: ['store', readFlag],
  background: ['background', readFlag],
}
export const SETTINGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(CONFIG).map(([name, [key]]) => [name, `generation_config.${key}`]),
  ),
  ...Object.fromEntries(Object.entries(BESIDE).map(([name, [key]]) => [name, key])),
  turns: 'input',
  thinking: 'generation_config.thinking_level',
  form: 'response_format',
  choice: 'generation_config.tool_choice',
  tool_choice: 'generation_config.tool_choice',
  strict: 'generation_config.tool_choice',
  safety: 'safety_settings',
  modalities: 'response_modalities',
  audio: 'generation_config.speech_config',
  detail: 'resolution',
  filename: 'name',
  previous_response_id: 'previous_interaction_id',
}

export const readSettings = (
  body: RequestObject,
  config: RequestObject | undefined,
  dropped: DroppedFields,
): Settings => {
  const settings: { [name: string]: Json } = {}
  const read = (object: RequestObject, table: typeof CONFIG): void => {
    for (const [name, [key, reader]] of Object.entries(table)) {
      const value = reader(object, key)
      if (value !== undefined) settings[name] = value
    }
  }
  if (config) read(config, CONFIG)
  read(body, BESIDE)
  const safety = body.objects('safety_settings').map(each => readSafety(each, dropped))
  const modalities = modalitiesIn(body)
  const audio = config && readSpeech(config, dropped)
  return {
    ...settings,
    ...(safety.length > 0 && { safety }),
    ...(modalities.length > 0 && { modalities }),
    ...(audio && { audio }),
  }
}
/** The hub has Google's older names: `{category: HARM_CATEGORY_…, threshold: BLOCK_…}`. */
const readSafety = (setting: RequestObject, dropped: DroppedFields): Json => {
  const category = setting.requiredText('type').toUpperCase()
  const threshold = setting.requiredText('threshold').toUpperCase()
  const method = setting.text('method')?.toUpperCase()
  setting.reportUnread(dropped)
  return {
    category: `HARM_CATEGORY_${category}`,
    threshold,
    ...(method !== undefined && { method }),
  }
}
/** One voice; several speakers are reported. */
const readSpeech = (config: RequestObject, dropped: DroppedFields): Json | undefined => {
  const value = config.value('speech_config')
  if (value === undefined) return undefined
  const holder = isFields(value) && 'speakers' in value ? config.object('speech_config') : undefined
  const speakers = holder ? holder.objects('speakers') : config.objects('speech_config')
  const [speaker, ...others] = speakers
  const voice = speaker?.text('voice')
  for (const other of others) dropped.add(other.path)
  speaker?.reportUnread(dropped)
  return voice === undefined ? undefined : { voice }
}

const MEDIA_FORMATS: ReadonlySet<string> = new Set(['image', 'audio', 'video'])
const FORMATS: ReadonlySet<string> = new Set(['text', ...MEDIA_FORMATS])
const typesOf = (body: RequestObject): readonly string[] =>
  body.objects('response_format').flatMap(each => each.text('type') ?? [])
const modalitiesIn = (body: RequestObject): readonly string[] => {
  const listed = body.texts('response_modalities').map(each => each.toLowerCase())
  const types = typesOf(body)
  const shaped = types.some(type => MEDIA_FORMATS.has(type))
    ? types.filter(type => FORMATS.has(type))
    : []
  return [...new Set([...listed, ...shaped])]
}

const JSON_TYPE = 'application/json'
const TEXT_TYPES: ReadonlySet<string> = new Set(['', 'text/plain'])

/** `{type: text, mime_type, schema}`, alone or in a list; or a JSON Schema itself. */
export const readForm = (body: RequestObject, dropped: DroppedFields): Form | undefined => {
  const ownType = body.text('response_mime_type') ?? ''
  if (ownType !== JSON_TYPE && !TEXT_TYPES.has(ownType))
    throw valueFault('response_mime_type', `expected ${JSON_TYPE} or text/plain`)
  let form: Form | undefined = ownType === JSON_TYPE ? { type: 'json' } : undefined
  for (const format of body.objects('response_format')) {
    const type = format.text('type') ?? ''
    if (MEDIA_FORMATS.has(type)) format.reportUnread(dropped)
    else if (type === 'text') form = readTextForm(format, dropped) ?? form
    else form = { type: 'schema', schema: format.fields, strict: true }
  }
  return form
}
const readTextForm = (format: RequestObject, dropped: DroppedFields): Form | undefined => {
  const type = format.text('mime_type') ?? ''
  const schema = format.object('schema')?.fields
  format.reportUnread(dropped)
  if (type !== JSON_TYPE && !TEXT_TYPES.has(type))
    throw valueFault(format.pathOf('mime_type'), `expected ${JSON_TYPE} or text/plain`)
  if (schema) return { type: 'schema', schema, strict: true }
  return type === JSON_TYPE ? { type: 'json' } : undefined
}

const LEVELS: ReadonlySet<string> = new Set(['minimal', 'low', 'medium', 'high', 'xhigh'])
const SUMMARIES: Readonly<Record<string, boolean>> = { auto: true, none: false }
export const readThinking = (config: RequestObject): Thinking | undefined => {
  const effort = config.text('thinking_level')?.toLowerCase()
  const summaries = config.text('thinking_summaries')?.toLowerCase()
  const show = summaries === undefined ? undefined : lookUp(SUMMARIES, summaries)
  if (summaries !== undefined && show === undefined)
    throw valueFault(config.pathOf('thinking_summaries'), 'expected auto or none')
  if (effort !== undefined && !LEVELS.has(effort))
    throw valueFault(
      config.pathOf('thinking_level'),
      'expected minimal, low, medium, high or xhigh',
    )
  const showMember = show !== undefined && { show }
  if (effort !== undefined) return { mode: 'effort', effort, ...showMember }
  return show === undefined ? undefined : { mode: 'adaptive', show }
}
