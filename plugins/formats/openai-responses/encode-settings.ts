/** Encodes settings, thinking and structured output for an upstream. */
import type { Json } from '../../../engine/plugin.ts'
import { shortenForOpenai, userName } from '../end-user.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import type { Form, Prompt, Settings, Thinking } from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'
import { SAMPLING, withoutSampling } from '../hub/sampling.ts'
import { schemaName, strictly } from '../openai-strict.ts'
import {
  INCLUDE_LOGPROBS,
  INCLUDE_THOUGHTS,
  PLAIN_SETTINGS,
  SETTING_NAMES,
} from './decode-settings.ts'

export const writeSettings = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): Fields => {
  const body: { [key: string]: Json } = {}
  const { traits } = target
  const { user } = userName(prompt)
  const settings = withoutSampling(prompt.settings, SAMPLING, target, dropped)
  for (const [name, value] of Object.entries(settings) as [keyof Settings, Json][]) {
    const key = (name === 'user' && user) || PLAIN_SETTINGS[name]?.[0]
    if (key !== undefined) body[key] = VALUE_RULES[name]?.(value) ?? value
    else if (!(name in SETTING_NAMES) && !isDefault(name, value)) dropped.add(name)
  }
  const { answer, conversation } = prompt.previous ?? {}
  const { thinking } = prompt
  const thinks = traits.thinking !== false
  if (thinking && thinking.mode !== 'off' && !thinks) dropped.add('thinking')
  const reasoning = thinks ? writeReasoning(thinking) : undefined
  const include = writeInclude(prompt, traits)
  return omitUndefined({
    ...body,
    // Without storage, the client sends the thoughts back, so the response must include all of
    // them.
    store: body.store ?? (prompt.previous ? undefined : false),
    include: include.length > 0 ? include : undefined,
    previous_response_id: answer,
    conversation,
    text: writeText(prompt, dropped),
    reasoning,
  })
}

/** The provider rejects smaller token limits. */
const MIN_TOKENS = 16
const VALUE_RULES: Readonly<Partial<Record<keyof Settings, (value: Json) => Json>>> = {
  limit: value => (typeof value === 'number' ? Math.max(MIN_TOKENS, value) : value),
  user: shortenForOpenai,
  cacheKey: shortenForOpenai,
}
/** Values that equal this format's default. */
const isDefault = (name: string, value: Json): boolean =>
  (name === 'candidates' && value === 1) ||
  (name === 'modalities' && JSON.stringify(value) === '["text"]') ||
  ((name === 'frequencyPenalty' || name === 'presencePenalty') && value === 0)

const writeInclude = (
  { previous, settings: { logprobs } }: Prompt,
  traits: TargetFacts['traits'],
): readonly string[] => [
  ...(previous || traits.thinking === false ? [] : [INCLUDE_THOUGHTS]),
  ...(logprobs && traits.sampling !== false ? [INCLUDE_LOGPROBS] : []),
]
const writeText = (
  { form, settings: { verbosity } }: Prompt,
  dropped: DroppedFields,
): Fields | undefined => {
  if (!form && verbosity === undefined) return undefined
  return omitUndefined({ format: form && writeForm(form, dropped), verbosity })
}
const writeForm = (form: Form, dropped: DroppedFields): Fields => {
  if (form.type === 'json') return { type: 'json_object' }
  const { description } = form
  const name = schemaName(form.name)
  const { schema, strict = false } = strictly(
    objectSchema(form.schema),
    form.strict,
    'form',
    dropped,
  )
  return omitUndefined({ type: 'json_schema', name, description, schema, strict })
}

const writeReasoning = (thinking: Thinking | undefined): Fields | undefined => {
  if (!thinking) return undefined
  const { mode, effort, budget, show = mode === 'budget' || mode === 'adaptive' } = thinking
  if (mode === 'off') return { effort: 'none' }
  const reasoning = omitUndefined({
    effort: effort ?? (budget === undefined ? undefined : effortOf(budget)),
    summary: show ? 'auto' : undefined,
  })
  return Object.keys(reasoning).length > 0 ? reasoning : undefined
}
/** The thresholds of Google's compatibility layer. */
const effortOf = (budget: number): string =>
  EFFORTS.find(([maxBudget]) => budget <= maxBudget)?.[1] ?? 'high'
const EFFORTS: readonly (readonly [most: number, effort: string])[] = [
  [1_024, 'low'],
  [8_192, 'medium'],
]
