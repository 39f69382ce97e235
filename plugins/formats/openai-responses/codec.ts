/** The codec of OpenAI responses. */
import type { Codec } from '../codec.ts'
import { decodeError } from './errors.ts'
import { decodeAnswer } from './read-answer.ts'
import { decodePrompt } from './read-prompt.ts'
import { decodeStream } from './read-stream.ts'
import { SETTING_NAMES } from './settings.ts'
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
  settings: SETTING_NAMES,
  runsHostedTools: true,
}
