/** Gemini's interactions: steps in place of messages. */
import { type Fields, isFields, lenientText } from '../fields.ts'
import { eventFields, type Format } from '../format.ts'
import { decodeErrorReply } from '../google/error-reply.ts'
import { type ServedFacts, servedOf } from '../served.ts'
import type { SseEvent } from '../stream/sse.ts'
import { NULLS, SETTINGS } from './decode-settings.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeStream } from './encode-stream.ts'
import { toolSupport } from './encode-tools.ts'
import { answers, encodeFailure, errorIn, failureIn, hasEmptyDelta } from './errors.ts'
import { interactionIn } from './hosted-tools.ts'
import { NAME } from './name.ts'
import {
  decodePrompt,
  encodePrompt,
  isVideoPage,
  modelMember,
  ownOnly,
  placesIn,
} from './request.ts'
import { about, decodeAnswer, encodeAnswer } from './response.ts'
import { usage } from './usage.ts'

const END = 'interaction.complete'
const CONTENT = /^(?:step\.delta|interaction\.complete)/
/** Another target would run the agent a second time: its provider has stored it. */
const beginsAgent = (event: SseEvent): boolean =>
  typeOf(event) === 'interaction.created' &&
  (interactionIn(eventFields(event) ?? {}).model ?? null) === null
const holdsContent = (fields: Fields): boolean =>
  !hasEmptyDelta(fields) && failureIn(interactionIn(fields)) === undefined
const typeOf = (event: SseEvent): string =>
  lenientText(eventFields(event) ?? {}, 'event_type') ?? ''

const served: ServedFacts = {
  members: ['id', 'model', 'service_tier'],
  mark: 'interaction"',
  read(fields) {
    const { id, model, service_tier } = interactionIn(fields)
    return servedOf(id, model, { service_tier })
  },
}
const configOf = ({ generation_config: config }: Fields): Fields => (isFields(config) ? config : {})
export const googleInteractions: Format = {
  name: NAME,
  dialect: 'google',
  endpoint: 'interactions',
  about,
  model: 'body',
  modelMember,
  ownOnly,
  answerModel: { key: 'model', parents: ['interaction'] },
  outputLimit: (body, tokens) => [
    'generation_config',
    { ...configOf(body), max_output_tokens: tokens },
  ],
  limitField: 'max_output_tokens',
  limitsIn: body => [configOf(body).max_output_tokens],
  usage,
  served,
  stream: {
    usageMark: 'usage"',
    isCumulative: true,
    endMarks: [END],
    isEnd: event => typeOf(event).startsWith(END),
    afterEnd: 'same',
    completesWithoutTerminator: () => false,
    error: event => errorIn(eventFields(event) ?? {}),
    carriesContent: event =>
      (CONTENT.test(typeOf(event)) && holdsContent(eventFields(event) ?? {})) || beginsAgent(event),
    failedEnd: event => failureIn(interactionIn(eventFields(event) ?? {})),
    encodeFailure: body => Buffer.from(encodeFailure(body)),
  },
  answers,
  sample: { path: '/interactions', body: model => ({ model, input: 'Hello' }) },
  nulls: NULLS,
  codec: {
    settings: SETTINGS,
    decodePrompt,
    encodePrompt,
    decodeAnswer,
    decodeStream,
    encodeAnswer,
    encodeStream,
    decodeError: decodeErrorReply,
    tools: toolSupport,
    mediaIn: placesIn,
    opensUrl: isVideoPage,
    runsHostedTools: true,
  },
}
