/** Decodes and encodes whole chat requests. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, fieldsIn, flagIn, isFields, omitUndefined } from '../fields.ts'
import { cacheWriter, readCacheHint } from '../hub/cache-hint.ts'
import type { DroppedFields, TargetFacts, UpstreamRequest } from '../hub/codec.ts'
import { fitForm } from '../hub/form-request.ts'
import { type Prompt, reportPrevious } from '../hub/prompt.ts'
import { clientNamesIn } from '../hub/setting-aliases.ts'
import { isVideoPart } from './content.ts'
import { applyRules } from './message-rules.ts'
import { readMessages, writeMessages } from './messages.ts'
import {
  ALIASES,
  readForm,
  readSettings,
  readThinking,
  SETTINGS,
  writeForm,
  writeSettings,
  writeThinking,
} from './settings.ts'
import { fitChoice, takesChoice } from './tool-choices.ts'
import { presetNameOf, readChoice, readTools, writeTools } from './tools.ts'

export { mediaIn } from './content.ts'

export { repairHistory } from './message-rules.ts'

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
  'cache_control',
])

export const decodePrompt = (body: Fields, _path: string, dropped: DroppedFields): Prompt => {
  for (const key in body) if (!DECODED_FIELDS.has(key) && body[key] !== null) dropped.add(key)
  const choice = readChoice(body)
  const form = readForm(body)
  const thinking = readThinking(body)
  const options = fieldsIn(body, 'stream_options')
  return {
    turns: readMessages(body, dropped),
    tools: readTools(body),
    ...(choice && { choice }),
    settings: readSettings(body),
    ...clientNamesIn(body, ALIASES, dropped),
    ...(form && { form }),
    ...(thinking && { thinking }),
    ...readCacheHint(body, ''),
    stream: flagIn(body, 'stream') ?? false,
    includeUsage: options?.include_usage === true,
    body,
  }
}

export const encodePrompt = (
  wholePrompt: Prompt,
  target: TargetFacts,
  dropped: DroppedFields,
): UpstreamRequest => {
  const { name, traits } = target
  const prompt = fitForm(wholePrompt, dropped, traits)
  const { turns, form, thinking, stream, cache } = prompt
  reportPrevious(prompt, dropped)
  const writing = { dropped, hint: cacheWriter(traits.cache_control === true, dropped) }
  const effort = thinking && writeThinking(thinking)
  if (effort !== undefined && traits.thinking === false) dropped.add('thinking')
  return {
    path: '/v1/chat/completions',
    body: omitUndefined({
      model: name,
      messages: applyRules(writeMessages(turns, writing) as Json[], target, dropped),
      ...writeTools(fitChoice(prompt, traits, dropped), writing),
      ...writeSettings(prompt, target, dropped),
      response_format: form && writeForm(form, dropped),
      reasoning_effort: traits.thinking === false ? undefined : effort,
      ...writing.hint(cache),
      // Always requests usage, because billing needs it even if the client does not.
      ...(stream && { stream: true, stream_options: { include_usage: true } }),
    }),
  }
}

/** A schema or a choice of tools that the target does not take. */
export const needsRewriting = (body: Fields, traits: TargetFacts['traits']): boolean =>
  (traits.structured === false && readForm(body)?.type === 'schema') ||
  (traits.tool_choices !== undefined && !takesChoice(readChoice(body), traits))

/** Preset tools and videos are extensions of the gateway: upstreams of this format have neither.
 *  Not all of them have custom tools. */
export const needsTranslation = (
  { tools, messages }: Fields,
  { custom_tools: takesCustom }: TargetFacts['traits'],
): boolean =>
  (Array.isArray(tools) &&
    tools.some(
      tool => presetNameOf(tool) !== undefined || (takesCustom === false && isCustom(tool)),
    )) ||
  (Array.isArray(messages) &&
    messages.some(message => hasVideo(message) || (takesCustom === false && callsCustom(message))))
const isCustom = (value: Json): boolean => isFields(value) && value.type === 'custom'
const callsCustom = (message: Json): boolean =>
  isFields(message) && Array.isArray(message.tool_calls) && message.tool_calls.some(isCustom)
const hasVideo = (message: Json): boolean =>
  isFields(message) &&
  Array.isArray(message.content) &&
  message.content.some((part: Json) => isFields(part) && isVideoPart(part))
