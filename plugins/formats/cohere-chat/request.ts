/** Encodes whole requests, with their settings. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import { dropCache } from '../hub/cache-hint.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import {
  type Form,
  type Prompt,
  reportPrevious,
  type Settings,
  type Thinking,
} from '../hub/prompt.ts'
import { SAMPLING, withoutSampling } from '../hub/sampling.ts'
import { writeMessages } from './messages.ts'
import { writeTools } from './tools.ts'

export const encodePrompt = (
  prompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const { turns, form, thinking, stream, cache } = prompt
  dropCache(cache, dropped)
  reportPrevious(prompt, dropped)
  const { name, traits } = target
  const thinks = traits.thinking !== false
  if (thinking && thinking.mode !== 'off' && !thinks) dropped.add('thinking')
  return {
    path: '/v2/chat',
    body: omitUndefined({
      model: name,
      messages: writeMessages(turns, dropped) as Json,
      ...writeTools(prompt, dropped),
      ...writeSettings(withoutSampling(prompt.settings, SAMPLING, target, dropped), dropped),
      response_format: form && writeForm(form),
      thinking: thinking && thinks ? writeThinking(thinking) : undefined,
      stream,
    }),
  }
}

/** Hub name -> name in this format. */
const SETTINGS: Readonly<Partial<Record<keyof Settings, string>>> = {
  limit: 'max_tokens',
  temperature: 'temperature',
  topP: 'p',
  topK: 'k',
  stops: 'stop_sequences',
  seed: 'seed',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
}
/** Settings of requests for what happens anyway. */
const DEFAULTS: Readonly<Partial<Record<keyof Settings, Json>>> = {
  candidates: 1,
  logprobs: false,
  parallel: true,
  store: false,
  tier: 'auto',
}
const MAX_STOPS = 5

/** Reports settings without a name in this format. */
const writeSettings = (settings: Settings, dropped: DroppedFields): Fields => {
  const body: { [key: string]: Json } = {}
  for (const [name, value] of Object.entries(settings) as [keyof Settings, Json][]) {
    const key = SETTINGS[name]
    if (key !== undefined) body[key] = value
    else if (DEFAULTS[name] !== value) dropped.add(name)
  }
  const { stops } = settings
  if (stops && stops.length > MAX_STOPS) {
    dropped.add('stops')
    body.stop_sequences = stops.slice(0, MAX_STOPS)
  }
  return body
}

const writeForm = (form: Form): Fields =>
  form.type === 'json' ? { type: 'json_object' } : { type: 'json_object', json_schema: form.schema }

const writeThinking = ({ mode, budget }: Thinking): Fields => {
  if (mode === 'off') return { type: 'disabled' }
  return omitUndefined({ type: 'enabled', token_budget: budget })
}
