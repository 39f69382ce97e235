/** OpenAI's image endpoints: for targets that generate images, and for clients of those
 *  endpoints. */
import { drawnIn, joined, metersOf } from '../drawn.ts'
import { count, isFields } from '../fields.ts'
import { type Format, fieldsOf } from '../format.ts'
import { openaiErrorIn } from '../openai-error.ts'
import { decodeError } from '../openai-refusal.ts'
import type { SseEvent } from '../sse.ts'
import { decodePrompt, needsReading, SETTINGS } from './read.ts'
import { ImageTally } from './tally.ts'
import { encodePrompt, reduce, takes } from './write.ts'
import { encodeAnswer, encodeStream } from './write-answer.ts'

const isCompleted = (event: SseEvent): boolean =>
  String(fieldsOf(event)?.type ?? event.name).endsWith('.completed')

export const openaiImages: Format = {
  name: 'openai-images',
  dialect: 'openai',
  endpoint: 'image-generation',
  model: 'body',
  usage: {
    key: 'usage',
    inEvent(event) {
      const { type, usage } = event
      if (!String(type).endsWith('.completed')) return undefined
      return { ...(isFields(usage) && usage), images: 1 }
    },
    counts: ['images', 'input', 'image_input', 'output'],
    meters: usage => metersOf(usage, count(usage.images)),
    sums: { read: ['images'], written: ['images'] },
    tally: () => new ImageTally(),
    adds: true,
  },
  stream: {
    usageMark: '.completed"',
    cumulative: false,
    endMarks: ['.completed"'],
    ends: isCompleted,
    afterEnd: 'same', // one for each image
    suffices: isCompleted,
    error: openaiErrorIn,
  },
  codec: {
    settings: SETTINGS,
    decodePrompt,
    encodePrompt,
    decodeAnswer(body) {
      const content = drawnIn(body)
      return {
        ...(typeof body.created === 'number' && { created: body.created }),
        choices: [{ content, stop: { reason: 'end' } }],
        meters: metersOf(isFields(body.usage) ? body.usage : {}, content.length),
      }
    },
    encodeAnswer,
    // Targets never stream images to the translator; a client's stream passes through as bytes.
    decodeStream: () => ({ event() {}, close: () => false }),
    encodeStream,
    decodeError,
    needsReading,
    drawing: { takes, reduce, join: joined },
  },
}
