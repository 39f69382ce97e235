/** OpenAI chat completions: events without names, `data: [DONE]` at the end, usage in the last
 *  chunk before it. */

import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields } from '../fields.ts'
import { eventFields, type Format } from '../format.ts'
import { imageFormatIn } from '../images/image-prompt.ts'
import type { SseEvent } from '../stream/sse.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'
import { answers, carriesContent, decodeError, errorOf, failedEnd } from './errors.ts'
import { hostedUsage } from './hosted-tools.ts'
import { decodePrompt, encodePrompt, needsTranslation, repairHistory } from './request.ts'
import { about, decodeAnswer, encodeAnswer } from './response.ts'
import { NAMES } from './settings.ts'
import { toolSupport } from './tools.ts'
import { countsIn, metersOf, served } from './usage.ts'

/** Upstreams may send the same thought in several members. */
const TEXT = compileTextPattern({
  text: ['content', 'refusal', 'arguments', 'input', 'transcript'],
  alternatives: ['reasoning_content', 'reasoning', 'text'],
  exclusions: ['annotations'],
})

export const openaiChat: Format = {
  name: 'openai-chat',
  dialect: 'openai',
  endpoint: 'openai',
  about,
  model: 'body',
  answerModel: { key: 'model', parents: [] },
  outputLimit: (_, tokens) => ['max_completion_tokens', tokens],
  limitField: 'max_tokens',
  limitsIn: body => [body.max_tokens, body.max_completion_tokens],
  answersIn: ({ n }) => n,
  sample: {
    path: '/chat/completions',
    body: model => ({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  },
  usage: {
    key: 'usage',
    inEvent: event => countsIn(event),
    inAnswer: answer => countsIn(answer),
    meters: usage => metersOf(usage),
    sums: { input: ['prompt_tokens'], output: ['completion_tokens'] },
    text: { plain: TEXT, events: TEXT },
    counts: [
      'input',
      'cached',
      'cached_audio',
      'cached_image',
      'cache_write',
      'audio_input',
      'output',
      'thinking',
      'audio_output',
      'image_output',
      'seconds',
      'web_search',
    ],
    hostedTools: hostedUsage,
  },
  served,
  stream: {
    usageMark: '_tokens"',
    isCumulative: true,
    endMarks: ['[DONE]'],
    isEnd: ({ data }) => data?.trim() === '[DONE]',
    afterEnd: 'dropped',
    completesWithoutTerminator: event => isFinished(event),
    usageOption: {
      memberToAdd: body => memberToAdd(body),
      isUsageOnly: event => isUsageOnly(event),
    },
    error: event => errorOf(event),
    carriesContent,
    failedEnd,
  },
  answers,
  repairHistory,
  codec: {
    settings: NAMES,
    decodePrompt,
    encodePrompt,
    decodeAnswer,
    encodeAnswer,
    decodeStream,
    encodeStream,
    decodeError,
    needsTranslation,
    expectsImageUrls: body => imageFormatIn(body) !== 'b64_json',
    losesSignatures: true,
    tools: toolSupport,
  },
}

/** All choices have a finish reason, or the chunk holds the usage that follows: compatible
 *  upstreams omit `[DONE]`. */
const isFinished = (event: SseEvent): boolean => {
  const { choices, usage } = eventFields(event) ?? {}
  if (!Array.isArray(choices)) return false
  if (choices.length === 0) return isFields(usage)
  return choices.every((choice: Json) => isFields(choice) && Boolean(choice.finish_reason))
}

/** A chunk with usage and no choices is sent only if `stream_options.include_usage` is set. */
const memberToAdd = ({
  stream,
  stream_options: options,
}: Fields): readonly [string, Json] | undefined => {
  if (stream !== true) return undefined
  const current = isFields(options) ? options : {}
  if (current.include_usage === true) return undefined
  return ['stream_options', { ...current, include_usage: true }]
}
const isUsageOnly = (event: SseEvent): boolean => {
  const { choices, usage } = eventFields(event) ?? {}
  return Array.isArray(choices) && choices.length === 0 && isFields(usage)
}
