/** Media types under the names that providers know: clients, browsers and operating systems have
 *  several for one type. Pure. */
import { lookUp } from '../fields.ts'
import { DECISIVE_BYTES, mediaTypeOf } from './media-type.ts'

/** The registered name, and its other names. */
const NAMES: readonly (readonly [name: string, ...others: string[]])[] = [
  ['image/jpeg', 'image/jpg', 'image/pjpeg', 'image/jfif', 'image/jpe', 'image/x-jpeg'],
  ['image/png', 'image/x-png', 'image/x-citrix-png'],
  ['image/gif', 'image/x-gif'],
  ['image/webp', 'image/x-webp'],
  ['image/heic', 'image/x-heic'],
  ['image/tiff', 'image/tif', 'image/x-tiff'],
  ['image/bmp', 'image/x-bmp', 'image/x-ms-bmp'],
  ['audio/mpeg', 'audio/mp3', 'audio/mpeg3', 'audio/x-mpeg-3', 'audio/x-mpeg', 'audio/x-mp3'],
  ['audio/mpeg', 'audio/mpg', 'audio/x-mpg'],
  ['audio/wav', 'audio/x-wav', 'audio/wave', 'audio/vnd.wave', 'audio/x-pn-wav'],
  ['audio/mp4', 'audio/m4a', 'audio/x-m4a'],
  ['audio/aac', 'audio/x-aac', 'audio/aacp', 'audio/x-hx-aac-adts'],
  ['audio/flac', 'audio/x-flac'],
  ['audio/ogg', 'audio/x-ogg', 'audio/vorbis'],
  ['audio/aiff', 'audio/x-aiff', 'audio/aif'],
  ['video/mp4', 'video/x-mp4', 'video/x-m4v', 'video/m4v'],
  ['video/quicktime', 'video/mov', 'video/x-quicktime'],
  ['video/mpeg', 'video/mpg', 'video/x-mpeg'],
  ['video/x-msvideo', 'video/avi', 'video/msvideo'],
  ['video/x-ms-wmv', 'video/wmv'],
  ['video/x-flv', 'video/flv'],
  ['video/x-matroska', 'video/mkv', 'video/matroska'],
  ['application/pdf', 'application/x-pdf', 'text/pdf', 'application/acrobat'],
  ['application/json', 'text/json', 'application/x-json'],
  ['text/markdown', 'text/md', 'text/x-markdown', 'application/markdown'],
  ['text/csv', 'application/csv', 'text/x-csv', 'text/comma-separated-values'],
  ['text/plain', 'application/txt', 'text/txt', 'plain/text'],
  ['text/html', 'application/xhtml+xml'],
]
const NAME_OF: Readonly<Record<string, string>> = Object.fromEntries(
  NAMES.flatMap(([name, ...others]) => others.map(other => [other, name])),
)
/** Types that say nothing of the content. */
const UNKNOWN: ReadonlySet<string> = new Set([
  'application/octet-stream',
  'binary/octet-stream',
  'application/unknown',
  'image/*',
])

/** The name of a media type without its parameters. `base64`: the data, whose first bytes decide
 *  if the type says nothing. */
export const mediaName = (type: string, base64 = ''): string => {
  const [plain = ''] = type.split(';', 1)
  const name = plain.trim().toLowerCase()
  if (!UNKNOWN.has(name) && name.includes('/')) return lookUp(NAME_OF, name) ?? name
  const start = Buffer.from(base64.slice(0, DECISIVE_BYTES * 2), 'base64')
  return mediaTypeOf(start).type
}
