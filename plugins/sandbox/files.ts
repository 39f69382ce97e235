/** Files of the sandbox, which its answers refer to: a clip, a tone, and images of one colour. */
import type { Bytes, Exchange, Headers } from '../../engine/plugin.ts'
import { SANDBOX_HEADER } from '../conversion/sandbox-header.ts'
import { rangeIn } from '../file-store/range.ts'
import { AUDIO_ENCODERS } from './audio-file.ts'
import { clip } from './clip.ts'
import { fault } from './faults.ts'
import { colourImage, imageFile } from './images.ts'

const TONE_SECONDS = 1
const FILES: Readonly<Record<string, { readonly type: string; make(): Bytes }>> = {
  'clip.mp4': { type: 'video/mp4', make: clip },
  'image.png': { type: 'image/png', make: () => colourImage('a clip') },
  'tone.wav': {
    type: 'audio/wav',
    make: () => AUDIO_ENCODERS.wav?.make(TONE_SECONDS) ?? Buffer.alloc(0),
  },
}

export interface SandboxFile {
  /** Media type. */
  readonly type: string
  readonly bytes: Bytes
}
/** Undefined: the sandbox has no file of this name. */
export const sandboxFile = (name: string): SandboxFile | undefined => {
  const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined
  return file ? { type: file.type, bytes: file.make() } : imageFile(name)
}
/** The answer to a request with these headers: all bytes, or a range of them. */
export const partOf = (
  bytes: Bytes,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): { readonly status: number; readonly headers: Headers; readonly part: Bytes } => {
  const size = bytes.length
  const range = rangeIn({ range: headers.range && String(headers.range) }, '', size)
  if (range === 'unsatisfiable')
    return { status: 416, headers: { 'content-range': `bytes */${size}` }, part: Buffer.alloc(0) }
  const { start, end } = range ?? { start: 0, end: size }
  const contentRange = range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }
  return {
    status: range ? 206 : 200,
    headers: { 'accept-ranges': 'bytes', 'content-length': String(end - start), ...contentRange },
    part: bytes.subarray(start, end),
  }
}
/** Answers with the file that a parameter of the path names. */
export const answerFile = (exchange: Exchange, parameter: string): void => {
  const name = exchange.params[parameter] ?? ''
  const file = sandboxFile(name)
  if (!file) throw fault('SANDBOX_FILE', [name.slice(0, 64)])
  const { status, headers, part } = partOf(file.bytes, exchange.request.headers)
  exchange.answer(status, exchange.request.method === 'HEAD' ? undefined : part, {
    ...headers,
    ...SANDBOX_HEADER,
    'content-type': file.type,
    'cache-control': 'public, max-age=86400',
  })
}
