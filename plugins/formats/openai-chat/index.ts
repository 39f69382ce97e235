/** OpenAI chat completions: events without names, `data: [DONE]` at the end, usage in the last
 *  chunk before it. */
import type { Format } from '../format.ts'
import { imageFormatIn } from '../images/image-prompt.ts'
import { OPENAI_SERVED } from '../served.ts'
import { CHUNKS } from '../stream/openai-chunks.ts'
import { compileTextPattern } from '../stream/text-pattern.ts'
import { OPENAI_TIERS } from '../tiers.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'
import { answers, carriesContent, decodeError, errorOf, failedEnd } from './errors.ts'
import { hostedUsage } from './hosted-tools.ts'
import {
  decodePrompt,
  encodePrompt,
  mediaIn,
  needsRewriting,
  needsTranslation,
  repairHistory,
} from './request.ts'
import { about, decodeAnswer, encodeAnswer } from './response.ts'
import { NAMES, NULLS } from './settings.ts'
import { toolSupport } from './tools.ts'
import { countsIn, metersOfOwn, ownNames } from './usage.ts'

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
    meters: usage => metersOfOwn(usage),
    ownNames,
    sums: {
      input: ['prompt_tokens', 'input_tokens'],
      output: ['completion_tokens', 'output_tokens'],
    },
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
  served: OPENAI_SERVED,
  finish: { mark: '"finish_reason"', value: /^"finish_reason"\s*:\s*"(\w+)"/ },
  stream: {
    ...CHUNKS,
    error: event => errorOf(event),
    carriesContent,
    failedEnd,
  },
  answers,
  repairHistory,
  nulls: NULLS,
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
    needsRewriting,
    mediaIn,
    expectsImageUrls: body => imageFormatIn(body) !== 'b64_json',
    losesSignatures: true,
    tools: toolSupport,
    tiers: OPENAI_TIERS,
  },
}
