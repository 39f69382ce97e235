/** Encodes settings, thinking and structured output for an upstream. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientText, lookUp, omitUndefined } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Form, Prompt, Settings, Thinking } from '../hub/prompt.ts'
import { SAMPLING, withoutSampling } from '../hub/sampling.ts'
import { BESIDE, CONFIG } from './decode-settings.ts'

interface EncodedSettings {
  /** Members of `generation_config`. */
  readonly config: Fields
  readonly beside: Fields
}
/** Values that request nothing, of settings without a name in this format. */
const NEUTRAL_VALUES: Readonly<Record<string, Json>> = { parallel: true, verbosity: 'medium' }

export const writeSettings = (
  settings: Settings,
  target: TargetFacts,
  dropped: DroppedFields,
): EncodedSettings => {
  const config: { [key: string]: Json } = {}
  const beside: { [key: string]: Json | undefined } = {}
  const sampled = withoutSampling(settings, SAMPLING, target, dropped)
  for (const [name, value] of Object.entries(sampled) as [keyof Settings, Json][]) {
    const writer = WRITERS[name]
    if (writer)
      Object.assign(writer.inConfig ? config : beside, writer.write(value, target, dropped))
    else if (CONFIG[name]) config[CONFIG[name][0]] = value
    else if (BESIDE[name]) beside[BESIDE[name][0]] = value
    else if (NEUTRAL_VALUES[name] !== value) dropped.add(name)
  }
  // Nothing is stored at the provider unless the client asks for it.
  return { config, beside: omitUndefined({ ...beside, store: settings.store ?? false }) }
}
interface Writer {
  readonly inConfig?: true
  write(value: Json, target: TargetFacts, dropped: DroppedFields): Fields
}
const TIERS: Readonly<Record<string, string | undefined>> = { auto: undefined, default: 'standard' }
const MAX_STOPS = 5
const WRITERS: Readonly<Partial<Record<keyof Settings, Writer>>> = {
  limit: {
    inConfig: true,
    write: (value, { maxOutput }) => ({
      max_output_tokens: Math.min(Number(value), maxOutput ?? Number(value)),
    }),
  },
  stops: {
    inConfig: true,
    write(value, _, dropped) {
      const stops = Array.isArray(value) ? value : []
      if (stops.length > MAX_STOPS) dropped.add('stops')
      return stops.length > 0 ? { stop_sequences: stops.slice(0, MAX_STOPS) } : {}
    },
  },
  audio: {
    inConfig: true,
    write(value, _, dropped) {
      const { voice, ...rest } = isFields(value) ? value : {}
      for (const key in rest) if (rest[key] !== 'pcm16') dropped.add(`audio.${key}`)
      return typeof voice === 'string' ? { speech_config: [{ voice }] } : {}
    },
  },
  modalities: { write: value => ({ response_modalities: value }) },
  tier: {
    write(value) {
      const tier = String(value).toLowerCase()
      return omitUndefined({
        service_tier: Object.hasOwn(TIERS, tier) ? lookUp(TIERS, tier) : tier,
      })
    },
  },
  safety: {
    write: value => ({
      safety_settings: (Array.isArray(value) ? value : []).filter(isFields).map(writeSafety),
    }),
  },
  background: {
    write(value, _, dropped) {
      if (value === true) dropped.add('background')
      return {}
    },
  },
}
const writeSafety = (setting: Fields): Fields => {
  const [category = '', threshold = ''] = ['category', 'threshold'].map(key =>
    lenientText(setting, key),
  )
  return omitUndefined({
    type: category.replace(/^HARM_CATEGORY_/, '').toLowerCase(),
    threshold: threshold.toLowerCase(),
    method: lenientText(setting, 'method')?.toLowerCase(),
  })
}

const JSON_TYPE = 'application/json'
export const writeForm = (form: Form): Fields => {
  if (form.type === 'json') return { type: 'text', mime_type: JSON_TYPE }
  const { description, schema } = form
  const fields = isFields(schema) ? schema : {}
  const whole =
    description === undefined || 'description' in fields ? fields : { ...fields, description }
  return { type: 'text', mime_type: JSON_TYPE, schema: whole }
}

const EFFORTS: Readonly<Record<string, string>> = { none: 'minimal', max: 'xhigh' }
/** The largest budget of each level, in tokens. */
const BUDGETS: readonly (readonly [most: number, level: string])[] = [
  [0, 'minimal'],
  [1024, 'low'],
  [8192, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
]
export const writeThinking = ({ thinking }: Pick<Prompt, 'thinking'>): Fields =>
  thinking
    ? omitUndefined({
        thinking_level: levelOf(thinking),
        thinking_summaries: thinking.show === undefined ? undefined : SUMMARIES[`${thinking.show}`],
      })
    : {}
const SUMMARIES = { true: 'auto', false: 'none' } as const
const levelOf = ({ mode, effort, budget = 0 }: Thinking): string | undefined => {
  if (mode === 'off') return 'minimal'
  if (mode === 'budget') return BUDGETS.find(([most]) => budget <= most)?.[1]
  return effort === undefined ? undefined : (lookUp(EFFORTS, effort) ?? effort)
}
