/** Descriptions of OpenAI's speech-to-text endpoints for clients. */
import {
  described,
  events,
  fields,
  json,
  list,
  number,
  object,
  text as string,
} from '../../shapes.ts'
import type { FormatDescription } from '../format.ts'

const transcript = object(
  { text: string },
  {
    language: string,
    duration: number,
    segments: list(fields),
    words: list(fields),
    usage: fields,
  },
)

export const about: FormatDescription = {
  summary: 'Writes down or translates speech, in the format of OpenAI transcriptions',
  responses: () => ({
    ...json(transcript),
    'text/plain': described('With `response_format: text`, `srt` or `vtt`', string),
    ...events('With `stream: true`: pieces of the transcript'),
  }),
}
