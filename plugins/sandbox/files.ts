/** Files of the sandbox, which its answers refer to: a clip, a tone, and images of one colour. */
import { errors } from '../../engine/errors.ts'
import type { Bytes, Exchange } from '../../engine/plugin.ts'
import { AUDIO_ENCODERS } from './audio-file.ts'
import { clip } from './clip.ts'
import { colourImage, imageFile } from './images.ts'

const fault = errors({
  SANDBOX_FILE: [404, 'The sandbox has no file "%s".', { param: 'file' }],
})

const TONE_SECONDS = 1
const FILES: Readonly<Record<string, { readonly type: string; make(): Bytes }>> = {
  'clip.mp4': { type: 'video/mp4', make: clip },
  'image.png': { type: 'image/png', make: () => colourImage('a clip') },
  'tone.wav': {
    type: 'audio/wav',
    make: () => AUDIO_ENCODERS.wav?.make(TONE_SECONDS) ?? Buffer.alloc(0),
  },
}

/** Undefined: the sandbox has no file of this name. */
export const sandboxFile = (
  name: string,
): { readonly type: string; readonly bytes: Bytes } | undefined => {
  const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined
  return file ? { type: file.type, bytes: file.make() } : imageFile(name)
}
/** Answers with the file that a parameter of the path names. */
export const answerFile = (exchange: Exchange, parameter: string): void => {
  const name = exchange.params[parameter] ?? ''
  const file = sandboxFile(name)
  if (!file) throw fault('SANDBOX_FILE', [name.slice(0, 64)])
  exchange.answer(200, file.bytes, {
    'content-type': file.type,
    'cache-control': 'public, max-age=86400',
    'x-tollgate-sandbox': 'true',
  })
}
