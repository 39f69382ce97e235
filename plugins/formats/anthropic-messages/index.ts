/** Anthropic messages: named events, usage at the start and near the end, `message_stop` last. */
import { isFields, lenientObject } from '../fields.ts'
import { eventFields, eventType, type Format } from '../format.ts'
import { imageFormatIn } from '../images/image-prompt.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { about, countSchema } from './about.ts'
import { hostedUsage } from './decode-hosted-tools.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'
import { answers, carriesContent, decodeError, errorOf } from './errors.ts'
import { mediaIn, NAME } from './members.ts'
import {
  cachedMembers,
  decodePrompt,
  encodePrompt,
  needsTranslation,
  repairHistory,
} from './request.ts'
import { decodeAnswer, encodeAnswer } from './response.ts'
import { NULLS, SETTINGS } from './settings.ts'
import { toolSupport } from './tools.ts'
import { metersOf, ownNames, served } from './usage.ts'

const TEXT = compileTextPattern({
  text: ['text', 'thinking', 'partial_json'],
  objects: ['input'],
  exclusions: ['citations'],
})

export const anthropicMessages: Format = {
  name: NAME,
  dialect: 'anthropic',
  endpoint: 'anthropic',
  about,
  model: 'body',
  answerModel: { key: 'model', parents: ['message'] },
  headers: { 'anthropic-version': '2023-06-01' },
  cachedMembers,
  outputLimit: (_, tokens) => ['max_tokens', tokens],
  limitField: 'max_tokens',
  limitsIn: body => [body.max_tokens],
  counting: {
    schema: countSchema,
    countedRequest: body => body,
    renameModel: (body, model) => ({ ...body, model }),
    encodeCount: tokens => ({ input_tokens: tokens }),
  },
  sample: {
    path: '/messages',
    body: model => ({
      model,
      max_tokens: 256,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  },
  usage: {
    key: 'usage',
    inEvent: event => {
      const usage =
        event.type === 'message_start' ? lenientObject(event, 'message').usage : event.usage
      return isFields(usage) ? usage : undefined
    },
    meters: usage => metersOf(usage),
    ownNames,
    sums: {
      input: ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
      output: ['output_tokens'],
    },
    text: { plain: TEXT, events: TEXT },
    counts: [
      'input',
      'cached',
      'cache_write',
      'cache_write_1h',
      'output',
      'thinking',
      'web_search',
    ],
    hostedTools: hostedUsage,
  },
  served,
  finish: { mark: '"stop_reason"', value: /^"stop_reason"\s*:\s*"(\w+)"/ },
  stream: {
    usageMark: 'usage"',
    isCumulative: false, // input is counted at the start, output at the end
    endMarks: ['message_stop'],
    isEnd: event => eventType(event) === 'message_stop',
    afterEnd: 'added',
    completesWithoutTerminator: event =>
      Boolean(lenientObject(eventFields(event) ?? {}, 'delta').stop_reason),
    error: event => errorOf(event),
    carriesContent,
  },
  answers,
  repairHistory,
  nulls: NULLS,
  codec: {
    decodePrompt,
    encodePrompt,
    decodeAnswer,
    encodeAnswer,
    decodeStream,
    encodeStream,
    mediaIn,
    decodeError,
    settings: SETTINGS,
    tools: toolSupport,
    needsTranslation,
    expectsImageUrls: body => imageFormatIn(body) !== 'b64_json',
    runsHostedTools: true,
  },
}
