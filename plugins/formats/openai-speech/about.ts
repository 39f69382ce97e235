/** Descriptions of OpenAI's text-to-speech endpoint for clients. */
import { binary, described, events } from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

export const about: FormatDescription = {
  summary: 'Speaks a text, in the format of OpenAI speech',
  responses: () => ({
    'audio/*': described('Audio in `response_format`', binary),
    ...events('With `stream_format: sse`: pieces of the audio in Base64'),
  }),
}
