/** Recognises the media type of a file by its first bytes. Pure. */
import { asBuffer } from '../../../engine/kit.ts'
import type { Bytes } from '../../../engine/plugin.ts'

export interface MediaType {
  readonly type: string
  /** With its dot. */
  readonly extension: string
}
/** First bytes of a file that decide its type. */
export const DECISIVE_BYTES = 1_024

const UNKNOWN: MediaType = { type: 'application/octet-stream', extension: '.bin' }
const SVG: MediaType = { type: 'image/svg+xml', extension: '.svg' }
const SVG_START =
  /^\s*(?:<\?xml[^>]*>\s*|<!--(?:[^-]|-(?!->))*-->\s*|<!DOCTYPE[^>]*>\s*)*<svg[\s>]/i

/** The first entry that fits wins; bytes are written as Latin-1 text. */
const SIGNATURES: readonly (readonly [
  type: string,
  extension: string,
  ...(readonly [offset: number, bytes: string])[],
])[] = [
  ['image/png', '.png', [0, '\x89PNG\r\n\x1a\n']],
  ['image/jpeg', '.jpg', [0, '\xff\xd8\xff']],
  ['image/gif', '.gif', [0, 'GIF8']],
  ['image/webp', '.webp', [0, 'RIFF'], [8, 'WEBP']],
  ['image/avif', '.avif', [4, 'ftypavif']],
  ['video/quicktime', '.mov', [4, 'ftypqt  ']],
  ['audio/mp4', '.m4a', [4, 'ftypM4A ']],
  ['video/mp4', '.mp4', [4, 'ftyp']],
  ['video/x-msvideo', '.avi', [0, 'RIFF'], [8, 'AVI ']],
  ['video/webm', '.webm', [0, '\x1a\x45\xdf\xa3']],
  ['audio/wav', '.wav', [0, 'RIFF'], [8, 'WAVE']],
  ['audio/flac', '.flac', [0, 'fLaC']],
  ['audio/ogg', '.ogg', [0, 'OggS']],
  ['audio/mpeg', '.mp3', [0, 'ID3']],
  ['audio/mpeg', '.mp3', [0, '\xff\xfb']],
  ['audio/mpeg', '.mp3', [0, '\xff\xf3']],
  ['audio/mpeg', '.mp3', [0, '\xff\xf2']],
  ['audio/aac', '.aac', [0, '\xff\xf1']],
  ['audio/aac', '.aac', [0, '\xff\xf9']],
  ['application/pdf', '.pdf', [0, '%PDF-']],
]

/** `start`: the whole file, or at least its first `DECISIVE_BYTES`. */
export const mediaTypeOf = (start: Bytes): MediaType => {
  const bytes = asBuffer(start).subarray(0, DECISIVE_BYTES)
  const text = bytes.toString('latin1')
  for (const [type, extension, ...parts] of SIGNATURES)
    if (parts.every(([offset, part]) => text.startsWith(part, offset))) return { type, extension }
  return SVG_START.test(text.replace('\xef\xbb\xbf', '')) ? SVG : UNKNOWN
}
