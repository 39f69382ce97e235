/** OpenAI responses: named and numbered events; the last one carries the whole response with its
 *  usage. No `[DONE]`. */
import type { Bytes } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject } from '../fields.ts'
import { eventFields, eventType, type Format } from '../format.ts'
import { type SseEvent, writeEvent } from '../stream/sse.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { NULLS, OPENAI_TIERS, SETTING_NAMES } from './decode-settings.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'
import { answers, carriesContent, decodeError, errorOf, failedEnd } from './errors.ts'
import { hostedUsage } from './hosted-tools.ts'
import { NAME } from './name.ts'
import { counting, decodePrompt, encodePrompt, mediaIn, repairHistory } from './request.ts'
import { about, decodeAnswer, encodeAnswer } from './response.ts'
import { needsTranslation, TOOL_FIELD_NAMES, toolSupport } from './tools.ts'
import { metersOf, ownNames, served } from './usage.ts'

const ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
])

/** Final events repeat the whole text, so only deltas count. */
const TEXT = {
  plain: compileTextPattern({
    text: ['text', 'refusal', 'arguments', 'input', 'code'],
    exclusions: ['annotations', 'tools', 'instructions', 'format', 'results', 'prompt', 'error'],
  }),
  events: compileTextPattern({ text: ['delta'] }),
}

export const openaiResponses = {
  name: NAME,
  dialect: 'openai',
  endpoint: 'openai-response',
  about,
  model: 'body',
  answerModel: { key: 'model', parents: ['response'] },
  outputLimit: (_, tokens) => ['max_output_tokens', tokens],
  limitField: 'max_output_tokens',
  limitsIn: body => [body.max_output_tokens],
  counting,
  sample: { path: '/responses', body: model => ({ model, input: 'Hello' }) },
  usage: {
    key: 'usage',
    inEvent: event => {
      const { usage } = lenientObject(event, 'response')
      return isFields(usage) ? usage : undefined
    },
    meters: metersOf,
    ownNames,
    sums: { input: ['input_tokens'], output: ['output_tokens'] },
    text: TEXT,
    counts: [
      'input',
      'cached',
      'cached_audio',
      'cached_image',
      'cache_write',
      'cache_write_1h',
      'audio_input',
      'output',
      'thinking',
      'audio_output',
      'image_output',
    ],
    hostedTools: hostedUsage,
  },
  served,
  finish: {
    mark: '"incomplete_details"',
    value: /^"incomplete_details"\s*:\s*\{\s*"reason"\s*:\s*"(\w+)"/,
    // The status of the response, not those of its items, once it has ended.
    otherwise: {
      mark: '"object"',
      value: /^"object"\s*:\s*"response"[^{}[\]]*?"status"\s*:\s*"(completed|failed|cancelled)"/,
    },
  },
  stream: {
    // Matches the whole response, which the first events and the last event of a stream hold.
    usageMark: 'ponse":',
    isCumulative: true,
    endMarks: ['ponse":'],
    isEnd: event => ENDS.has(eventType(event)),
    afterEnd: 'added',
    completesWithoutTerminator: () => false,
    error: event => errorOf(event),
    carriesContent,
    failedEnd,
    encodeFailure: (body, last) => failure(body, last),
  },
  answers,
  repairHistory,
  nulls: NULLS,
  codec: {
    decodePrompt,
    needsTranslation,
    encodePrompt,
    decodeAnswer,
    encodeAnswer,
    decodeStream,
    encodeStream,
    decodeError,
    mediaIn,
    settings: { ...SETTING_NAMES, ...TOOL_FIELD_NAMES },
    tools: toolSupport,
    tiers: OPENAI_TIERS,
    continuesAnswers: true,
    takesSystemMedia: true,
    runsHostedTools: true,
  },
} satisfies Format

const failure = (body: Fields, last: SseEvent | undefined): Bytes => {
  const { code = null, message = '', param = null } = isFields(body.error) ? body.error : {}
  const lastNumber = last && eventFields(last)?.sequence_number
  const sequence = typeof lastNumber === 'number' ? lastNumber + 1 : 0
  return writeEvent('error', { type: 'error', code, message, param, sequence_number: sequence })
}
