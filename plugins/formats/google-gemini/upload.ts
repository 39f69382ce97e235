/** Uploads files before the request that refers to them: Google's resumable protocol, with one
 *  chunk. Pure. */
import { type Fields, isFields, lenientObject, lenientText } from '../fields.ts'
import type { Upload, UploadedFile } from '../media/upload.ts'
import { mimeFor } from './content.ts'
import { NAME } from './name.ts'

const FILE_NAME = /^files\/[A-Za-z0-9_-]{1,64}$/

export const upload: Upload = {
  startRequest: ({ size, mime }) => ({
    path: '/upload/v1beta/files',
    headers: {
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(size),
      'x-goog-upload-header-content-type': mimeFor(mime),
    },
    body: { file: {} },
  }),
  // Ignores the host of the upload URL: all requests to this upstream use its configured address.
  uploadPath(headers) {
    const url = URL.parse(String(headers['x-goog-upload-url'] ?? ''))
    return url ? url.pathname + url.search : undefined
  },
  uploadHeaders: { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' },
  readStatus(body) {
    const file = isFields(body.file) ? body.file : body
    const [name = '', uri, mime] = ['name', 'uri', 'mimeType'].map(key => lenientText(file, key))
    if (!FILE_NAME.test(name) || !uri) return undefined
    return {
      path: `/v1beta/${name}`,
      source: { type: 'file', file: uri, origin: NAME, ...(mime && { mime }) },
      ...stateOf(file),
    }
  },
}
const stateOf = (file: Fields): Pick<UploadedFile, 'state' | 'error'> => {
  const { state } = file
  if (state === 'PROCESSING' || state === 'STATE_UNSPECIFIED') return { state: 'waiting' }
  if (state !== 'FAILED') return { state: 'ready' }
  return {
    state: 'failed',
    error:
      lenientText(lenientObject(file, 'error'), 'message') ?? 'the provider could not process it',
  }
}
