/** A whole chat request, both ways. */
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

/** Members that are read; any other is lost, and said. */
const READ: ReadonlySet<string> = new Set([
  ...Object.values(SETTINGS),
  ...['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'safety_identifier'],
  ...['tools', 'tool_choice', 'functions', 'function_call', 'web_search_options'],
  ...['response_format', 'reasoning_effort'],
])

export const decodePrompt = (body: Fields, _path: string, loss: Loss): Prompt => {
  for (const key in body) if (!READ.has(key) && body[key] !== null) loss.drop(key)
  const choice = readChoice(body)
  const form = readForm(body)
  const thinking = readThinking(body)
  const options = fieldsIn(body, 'stream_options')
  return {
    turns: readMessages(body),
    tools: readTools(body),
    ...(choice && { choice }),
    settings: readSettings(body),
    ...calledIn(body, SPELLINGS, loss),
    ...(form && { form }),
    ...(thinking && { thinking }),
    stream: flagIn(body, 'stream') ?? false,
    counts: options?.include_usage === true,
    body,
  }
}

export const encodePrompt = (prompt: Prompt, { name, traits }: TargetFacts, loss: Loss): Sent => {
  const { turns, form, thinking, stream, before, cache } = prompt
  if (cache) loss.drop('cache_control')
  if (before?.answer !== undefined) loss.drop('previous_response_id')
  if (before?.conversation !== undefined) loss.drop('conversation')
  const effort = thinking && writeThinking(thinking)
  if (effort !== undefined && traits.thinking === false) loss.drop('thinking')
  return {
    path: '/v1/chat/completions',
    body: present({
      model: name,
      messages: writeMessages(turns, loss) as Json,
      ...writeTools(prompt, loss),
      ...writeSettings(prompt.settings, loss),
      response_format: form && writeForm(form),
      reasoning_effort: traits.thinking === false ? undefined : effort,
      // Counts are asked for whatever the client wants: they are what is paid for.
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
    }),
  }
}

/** Tools and films that clients of ours name and upstreams of this format do not know. */
export const needsReading = ({ tools, messages }: Fields): boolean =>
  (Array.isArray(tools) && tools.some(tool => presetOf(tool) !== undefined)) ||
  (Array.isArray(messages) && messages.some(hasFilm))
const hasFilm = (message: Json): boolean =>
  isFields(message) &&
  Array.isArray(message.content) &&
  message.content.some((part: Json) => isFields(part) && isFilm(part))
