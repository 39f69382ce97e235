/** Decodes and encodes requests for completions: the text is one turn of the user. */
import type { Json } from '../../../engine/plugin.ts'
import { fault } from '../faults.ts'
import {
  type Fields,
  fieldsIn,
  flagIn,
  listIn,
  numberIn,
  omitUndefined,
  textIn,
} from '../fields.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { type Prompt, reportPrevious, type Settings } from '../hub/prompt.ts'

/** Hub name -> name in this format. */
const SETTINGS = {
  limit: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  stops: 'stop',
  candidates: 'n',
  seed: 'seed',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  bias: 'logit_bias',
  user: 'user',
} as const satisfies Partial<Record<keyof Settings, string>>
/** The names that clients of this format use. */
export const NAMES: Readonly<Record<string, string>> = {
  ...SETTINGS,
  logprobs: 'logprobs',
  alternatives: 'logprobs',
}
/** Fields that are read; any other field is reported as dropped. */
const DECODED_FIELDS: ReadonlySet<string> = new Set([
  ...Object.values(NAMES),
  'model',
  'prompt',
  'echo',
  'suffix',
  'best_of',
  'stream',
  'stream_options',
])

// ---------------------------------------------------------------- from a client

export const decodePrompt = (body: Fields, _path: string, dropped: DroppedFields): Prompt => {
  for (const key in body) if (!DECODED_FIELDS.has(key) && body[key] !== null) dropped.add(key)
  if (textIn(body, 'suffix'))
    throw fault('MEMBER_VALUE', ['suffix', 'this model writes only at the end of a text'], {
      param: 'suffix',
    })
  // The best of several answers is chosen by the provider: this model gives the first ones.
  const best = numberIn(body, 'best_of')
  if (best !== undefined && best > (numberIn(body, 'n') ?? 1)) dropped.add('best_of')
  const text = promptText(body)
  const settings = readSettings(body)
  if (settings.logprobs && flagIn(body, 'echo'))
    throw fault('MEMBER_VALUE', ['logprobs', 'this model has none for the echo of a prompt'], {
      param: 'logprobs',
    })
  return {
    turns: [{ role: 'user', content: [{ type: 'text', text }] }],
    tools: [],
    settings,
    stream: flagIn(body, 'stream') ?? false,
    includeUsage: fieldsIn(body, 'stream_options')?.include_usage === true,
    body,
  }
}

const promptText = ({ prompt = null }: Fields): string => {
  const text: Json = Array.isArray(prompt) && prompt.length === 1 ? (prompt[0] ?? null) : prompt
  if (typeof text === 'string' && text !== '') return text
  const isList = Array.isArray(text) && text.length > 0
  const reason = !isList
    ? 'expected a text that is not empty'
    : typeof text[0] === 'string'
      ? 'this model takes one text in a request'
      : 'this model takes a text, not tokens'
  throw fault('MEMBER_VALUE', ['prompt', reason], { param: 'prompt' })
}
/** The beginning of the answer if the client asks for its own text. */
export const echoOf = ({ body }: Pick<Prompt, 'body'>): string =>
  body.echo === true ? promptText(body) : ''

const readSettings = (body: Fields): Settings => {
  const settings: { [key: string]: Json } = {}
  for (const [name, key] of Object.entries(SETTINGS)) {
    const value = READERS[name]?.(body, key) ?? undefined
    if (value !== undefined) settings[name] = value
  }
  const alternatives = numberIn(body, 'logprobs')
  if (alternatives !== undefined) settings.logprobs = true
  if (alternatives) settings.alternatives = alternatives
  return settings
}
const readStops = (body: Fields, key: string): readonly Json[] | undefined =>
  typeof body[key] === 'string' ? [body[key]] : listIn(body, key)
const READERS: Readonly<Record<string, (body: Fields, key: string) => Json | undefined>> = {
  ...Object.fromEntries(Object.keys(SETTINGS).map(name => [name, numberIn])),
  stops: readStops as (body: Fields, key: string) => Json | undefined,
  bias: fieldsIn,
  user: textIn,
}

// ---------------------------------------------------------------- to an upstream

export const encodePrompt = (
  prompt: Prompt,
  { name }: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  reportPrevious(prompt, dropped)
  const { stream, choice, form, thinking, cache, settings } = prompt
  const others = { choice, form, thinking, cache_control: cache }
  for (const [key, value] of Object.entries(others)) if (value) dropped.add(key)
  return {
    path: '/v1/completions',
    body: omitUndefined({
      model: name,
      prompt: textOf(prompt),
      ...writeSettings(settings, dropped),
      // Always requests usage, because billing needs it even if the client does not.
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
    }),
  }
}
/** A conversation or a tool has no place in a text that the model continues. */
const textOf = ({ turns, tools }: Prompt): string => {
  const [tool] = tools
  if (tool) throw fault('TOOL_UNSUPPORTED', ['clientName' in tool ? tool.clientName : tool.name])
  const [turn] = turns
  const content = turn?.content ?? []
  const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
  if (turns.length !== 1 || turn?.role !== 'user' || texts.length !== content.length)
    throw fault('CONTENT_UNSUPPORTED', ['messages', 'anything but one text of the user'])
  return texts.join('\n')
}
const writeSettings = (
  { logprobs, alternatives, ...settings }: Settings,
  dropped: DroppedFields,
): Fields => {
  const body: { [key: string]: Json } = {}
  for (const [name, value] of Object.entries(settings) as [string, Json][]) {
    const key = (SETTINGS as Readonly<Record<string, string>>)[name]
    if (key === undefined) dropped.add(name)
    else body[key] = value
  }
  if (logprobs) body.logprobs = alternatives ?? 0
  return body
}

/** Answers that a request asks for: of each text the better of `n` and `best_of`. */
export const answersIn = ({ prompt, n, best_of: best }: Fields): number => {
  const texts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
  const counts = [n, best].map(Number).filter(value => value >= 1)
  return Math.max(1, texts) * Math.max(1, ...counts)
}
