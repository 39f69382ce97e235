/** The codec of Google generateContent. */
import type { Codec } from '../codec.ts'
import { decodeError } from './errors.ts'
import { decodeAnswer, decodeStream } from './read-answer.ts'
import { decodePrompt } from './read-prompt.ts'
import { SETTINGS } from './settings.ts'
import { upload } from './upload.ts'
import { encodeAnswer } from './write-answer.ts'
import { encodePrompt } from './write-prompt.ts'
import { encodeStream } from './write-stream.ts'

export const codec: Codec = {
  decodePrompt,
  encodePrompt,
  decodeAnswer,
  encodeAnswer,
  decodeStream,
  encodeStream,
  decodeError,
  settings: SETTINGS,
  upload,
  runsHostedTools: true,
}
