/** Where media of Google's formats come from: data, its own files and other addresses. */
import { lookUp } from '../fields.ts'
import type { Media, Source } from '../hub/content.ts'
import { kindOfMime } from '../media/media.ts'
import { GOOGLE } from './origin.ts'

/** Google accepts the standard and the URL-safe alphabet without padding; others require standard
 *  base64. */
export const standardBase64 = (data: string): string => {
  const standard = /[-_]/.test(data) ? data.replace(/-/g, '+').replace(/_/g, '/') : data
  const remainder = standard.length % 4
  return remainder === 0 || standard.includes('\n')
    ? standard
    : standard + '='.repeat(4 - remainder)
}

/** URIs that only Google can open: its files, Cloud Storage and YouTube videos. */
const OWN_FILE = /^(?:gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/|files\/)/
const YOUTUBE_URL = /^https:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//
/** A page that Google reads as a video. */
export const isVideoPage = (url: string): boolean => YOUTUBE_URL.test(url)

export const sourceOfUri = (
  uri: string,
  type: string | undefined,
): { readonly source: Source; readonly kind: Media['kind'] } => {
  const mime = type?.toLowerCase() ?? mimeOfUrl(uri)
  const mimeMember = mime !== undefined && { mime }
  const source: Source = OWN_FILE.test(uri)
    ? { type: 'file', file: uri, origin: GOOGLE, ...mimeMember }
    : { type: 'url', url: uri, ...mimeMember }
  return { source, kind: isVideoPage(uri) ? 'video' : kindOfMime(mime ?? '') }
}

/** By the extension of the path, without the query. */
export const mimeOfUrl = (url: string): string | undefined => {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  const extension = /\.([A-Za-z0-9]{2,5})$/.exec(path)?.[1]?.toLowerCase()
  return extension === undefined ? undefined : lookUp(MIMES, extension)
}
const MIMES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  mp4: 'video/mp4',
  mov: 'video/mov',
  avi: 'video/avi',
  mpeg: 'video/mpeg',
  mpg: 'video/mpg',
  webm: 'video/webm',
  wmv: 'video/wmv',
  flv: 'video/x-flv',
  '3gp': 'video/3gpp',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  aiff: 'audio/aiff',
  m4a: 'audio/m4a',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/md',
  csv: 'text/csv',
  html: 'text/html',
  xml: 'text/xml',
}
