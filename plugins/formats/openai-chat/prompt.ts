/** Decodes and encodes whole chat requests. */
import type { Json } from '../../../engine/plugin.ts'
import type { Loss, Sent, TargetFacts } from '../codec.ts'
import { type Fields, fieldsIn, flagIn, isFields, present } from '../fields.ts'
import type { Prompt } from '../hub.ts'
import { calledIn } from '../spellings.ts'
import { isFilm } from './content.ts'
import { readMessages, writeMessages } from './messages.ts'
import {
  readForm,
  readSettings,
  readThinking,
  SETTINGS,
  SPELLINGS,
  writeForm,
  writeSettings,
  writeThinking,
} from './settings.ts'
import { presetOf, readChoice, readTools, writeTools } from './tools.ts'

/** Fields that are read; any other field is reported as dropped. */
const DECODED_FIELDS: ReadonlySet<string> = new Set([
  ...Object.values(SETTINGS),
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'safety_identifier',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'web_search_options',
  'response_format',
  'reasoning_effort',
])

export const decodePrompt = (body: Fields, _path: string, dropped: Loss): Prompt => {
  for (const key in body) if (!DECODED_FIELDS.has(key) && body[key] !== null) dropped.drop(key)
  const choice = readChoice(body)
  const form = readForm(body)
  const thinking = readThinking(body)
  const options = fieldsIn(body, 'stream_options')
  return {
    turns: readMessages(body),
    tools: readTools(body),
    ...(choice && { choice }),
    settings: readSettings(body),
    ...calledIn(body, SPELLINGS, dropped),
    ...(form && { form }),
    ...(thinking && { thinking }),
    stream: flagIn(body, 'stream') ?? false,
    includeUsage: options?.include_usage === true,
    body,
  }
}

export const encodePrompt = (
  prompt: Prompt,
  { name, traits }: TargetFacts,
  dropped: Loss,
): Sent => {
  const { turns, form, thinking, stream, previous, cache } = prompt
  if (cache) dropped.drop('cache_control')
  if (previous?.answer !== undefined) dropped.drop('previous_response_id')
  if (previous?.conversation !== undefined) dropped.drop('conversation')
  const effort = thinking && writeThinking(thinking)
  if (effort !== undefined && traits.thinking === false) dropped.drop('thinking')
  return {
    path: '/v1/chat/completions',
    body: present({
      model: name,
      messages: writeMessages(turns, dropped) as Json,
      ...writeTools(prompt, dropped),
      ...writeSettings(prompt.settings, dropped),
      response_format: form && writeForm(form),
      reasoning_effort: traits.thinking === false ? undefined : effort,
      // Always requests usage, because billing needs it even if the client does not.
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
    }),
  }
}

/** Preset tools and videos are our extensions, which upstreams of this format do not know. */
export const needsReading = ({ tools, messages }: Fields): boolean =>
  (Array.isArray(tools) && tools.some(tool => presetOf(tool) !== undefined)) ||
  (Array.isArray(messages) && messages.some(hasVideo))
const hasVideo = (message: Json): boolean =>
  isFields(message) &&
  Array.isArray(message.content) &&
  message.content.some((part: Json) => isFields(part) && isFilm(part))
