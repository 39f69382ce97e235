/** Encodes images, documents, video and audio, whose bytes are always inside the request. */
import { fault } from '../faults.ts'
import { type Fields, lookUp, omitUndefined } from '../fields.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Media, Source } from '../hub/content.ts'

/** Kind of media -> media type -> its name in this format. */
const FORMATS: Readonly<Record<Media['kind'], Readonly<Record<string, string>>>> = {
  image: {
    'image/png': 'png',
    'image/jpeg': 'jpeg',
    'image/jpg': 'jpeg',
    'image/gif': 'gif',
    'image/webp': 'webp',
  },
  document: {
    'application/pdf': 'pdf',
    'application/msword': 'doc',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'text/csv': 'csv',
    'text/html': 'html',
    'text/plain': 'txt',
    'text/markdown': 'md',
  },
  video: {
    'video/mp4': 'mp4',
    'video/quicktime': 'mov',
    'video/mov': 'mov',
    'video/x-matroska': 'mkv',
    'video/webm': 'webm',
    'video/x-flv': 'flv',
    'video/mpeg': 'mpeg',
    'video/mpg': 'mpg',
    'video/x-ms-wmv': 'wmv',
    'video/wmv': 'wmv',
    'video/3gpp': 'three_gp',
  },
  audio: {
    'audio/mpeg': 'mp3',
    'audio/mp3': 'mp3',
    'audio/wav': 'wav',
    'audio/x-wav': 'wav',
    'audio/mp4': 'mp4',
    'audio/m4a': 'm4a',
    'audio/ogg': 'ogg',
    'audio/opus': 'opus',
    'audio/flac': 'flac',
    'audio/aac': 'aac',
    'audio/webm': 'webm',
  },
}

/** Names of the documents of one request: the provider refuses equal ones. */
export class DocumentNames {
  readonly #used = new Set<string>()
  /** Name -> the last number behind it. */
  readonly #numbers = new Map<string, number>()
  add(name: string): string {
    const text =
      name
        .replace(/[^A-Za-z0-9\s()[\]-]/g, '-')
        .replace(/\s+/g, ' ')
        .trim() || 'document'
    let unique = text
    let number = this.#numbers.get(text) ?? 1
    while (this.#used.has(unique)) unique = `${text} (${++number})`
    this.#numbers.set(text, number)
    this.#used.add(unique)
    return unique
  }
}

export const writeMedia = (media: Media, names: DocumentNames, dropped: DroppedFields): Fields => {
  const { kind, detail, clip, name, context, citationsEnabled } = media
  const { bytes, mime, filename } = bytesOf(media)
  const format = lookUp(FORMATS[kind], mime)
  if (format === undefined) throw unsupported(media, `${kind} of the type ${mime}`)
  if (detail !== undefined && detail !== 'auto') dropped.add('detail')
  if (clip !== undefined) dropped.add('videoMetadata')
  const source = { bytes }
  if (kind !== 'document') {
    if (name !== undefined) dropped.add('filename')
    return { [kind]: { format, source } }
  }
  return {
    document: omitUndefined({
      format,
      name: names.add(name ?? filename ?? ''),
      source,
      context,
      citations: citationsEnabled ? { enabled: true } : undefined,
    }),
  }
}

interface InlineBytes {
  /** Base64. */
  readonly bytes: string
  readonly mime: string
  readonly filename?: string | undefined
}
const bytesOf = (media: Media): InlineBytes => {
  const source: Source = media.source
  if (source.type === 'text')
    return { bytes: Buffer.from(source.text).toString('base64'), mime: 'text/plain' }
  if (source.type !== 'data') throw unsupported(media, `a ${media.kind} by ${source.type}`)
  const [mime = ''] = source.mime.toLowerCase().split(';')
  return { bytes: source.data, mime: mime.trim(), filename: source.filename }
}
const unsupported = ({ at = 'messages' }: Media, what: string) =>
  fault('CONTENT_UNSUPPORTED', [at, what], { param: at })

/** The media type of an image that the model sent. */
export const imageType = (format: string): string => `image/${format}`
