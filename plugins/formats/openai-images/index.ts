/** OpenAI's image endpoints: for targets that generate images, and for clients of those
 *  endpoints. */
import type { Json } from '../../../engine/plugin.ts'
import { count, type Fields, isFields, lenientObject, lenientObjects } from '../fields.ts'
import { eventFields, type Format } from '../format.ts'
import {
  decodeImages,
  inlineImages,
  joinImageAnswers,
  metersOf,
  ownNames,
  replaceImages,
} from '../images/image-answer.ts'
import { imageFormatIn } from '../images/image-prompt.ts'
import { openaiErrorIn } from '../openai-error.ts'
import { decodeErrorReply } from '../openai-error-reply.ts'
import { servedOf } from '../served.ts'
import type { SseEvent } from '../stream/sse.ts'
import { openaiFailure } from '../unanswered.ts'
import { about } from './about.ts'
import { ImageCounter } from './image-counter.ts'
import { decodePrompt, needsTranslation, SETTINGS } from './read.ts'
import { ACCEPTED_FIELDS, encodePrompt, reducePrompt } from './write.ts'
import { encodeAnswer, encodeStream } from './write-answer.ts'

const isCompleted = (event: SseEvent): boolean =>
  String(eventFields(event)?.type ?? event.name).endsWith('.completed')

/** Whether an item of a plain answer, or an event, holds an image, under any name that does not
 *  describe one: compatible upstreams have names of their own. */
const hasImage = (fields: Fields): boolean =>
  Object.entries(fields).some(
    ([name, value]) => !DESCRIPTIVE.has(name) && !DESCRIBES.test(name) && isImage(value),
  )
/** Addresses and data are texts. */
const isImage = (value: Json | undefined): boolean => {
  if (Array.isArray(value)) return value.some(isImage)
  return isFields(value) ? hasImage(value) : typeof value === 'string' && value !== ''
}
/** Members that hold an index, an identifier, a reason or a setting: never an image. */
const DESCRIBES =
  /_(?:id|index|reason)$|^(?:detail|reason|seed|state|style|timestamp|user|version)$/i
const DESCRIPTIVE: ReadonlySet<string> = new Set([
  'background',
  'code',
  'created',
  'created_at',
  'error',
  'event',
  'event_type',
  'id',
  'message',
  'mime_type',
  'model',
  'object',
  'output_format',
  'prompt',
  'provider',
  'quality',
  'revised_prompt',
  'size',
  'status',
  'svg_usage',
  'type',
  'usage',
])

export const openaiImages: Format = {
  name: 'openai-images',
  dialect: 'openai',
  endpoint: 'image-generation',
  about,
  model: 'body',
  usage: {
    key: 'usage',
    inEvent(event) {
      const { type, usage, svg_usage: svg } = event
      if (!String(type).endsWith('.completed')) return undefined
      return { ...(isFields(usage) && usage), ...(isFields(svg) && { svg_usage: svg }), images: 1 }
    },
    counts: [
      'images',
      'input',
      'cached',
      'cached_image',
      'image_input',
      'output',
      'thinking',
      'image_output',
    ],
    meters: usage => metersOf(usage, count(usage.images)),
    ownNames,
    sums: { input: ['images'], output: ['images'] },
    countAnswer: () => new ImageCounter(),
    isAdditive: true,
  },
  served: {
    members: ['model', 'quality', 'size', 'background', 'output_format'],
    read: ({ model, quality, size, background, output_format }) =>
      servedOf(undefined, model, { quality, size, background, output_format }),
  },
  stream: {
    usageMark: '.completed"',
    isCumulative: false,
    endMarks: ['.completed"'],
    isEnd: isCompleted,
    afterEnd: 'same', // one for each image
    completesWithoutTerminator: isCompleted,
    error: openaiErrorIn,
    carriesContent: event => hasImage(eventFields(event) ?? {}),
  },
  answers: {
    marks: ['"url"', '"b64_json"'],
    failure: body =>
      lenientObjects(body, 'data').some(hasImage) ? undefined : openaiFailure(body),
  },
  codec: {
    settings: SETTINGS,
    decodePrompt,
    encodePrompt,
    decodeAnswer(body) {
      const content = decodeImages(body)
      return {
        ...(typeof body.created === 'number' && { created: body.created }),
        choices: [{ content, stop: { reason: 'end' } }],
        meters: metersOf(
          { ...lenientObject(body, 'usage'), svg_usage: body.svg_usage ?? null },
          content.length,
        ),
      }
    },
    encodeAnswer,
    // Targets never stream images to the translator; a client's stream passes through as bytes.
    decodeStream: () => ({ push() {}, close: () => false }),
    encodeStream,
    decodeError: decodeErrorReply,
    needsTranslation,
    expectsImageUrls: body => imageFormatIn(body) === 'url',
    imageGeneration: {
      acceptedFields: ACCEPTED_FIELDS,
      reducePrompt,
      joinAnswers: joinImageAnswers,
      inlineImages,
      replaceImages,
    },
  },
}
