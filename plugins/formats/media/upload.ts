/** How upstreams of a format accept a file that is too large for a request. Types only. */
import type { Headers } from '../../../engine/plugin.ts'
import type { Fields } from '../fields.ts'
import type { Source } from '../hub/content.ts'

export interface Upload {
  /** The request for an upload URL. */
  startRequest(file: { readonly size: number; readonly mime: string }): {
    readonly path: string
    readonly headers: Headers
    readonly body: Fields
  }
  /** The path of the upload URL, from the headers of the answer; undefined if they name none. */
  uploadPath(headers: Headers): string | undefined
  /** Headers of the request that sends the bytes in one piece. */
  readonly uploadHeaders: Headers
  /** Reads the upstream's status of a file, after the upload and on each poll; undefined if the
   *  body is none. */
  readStatus(body: Fields): UploadedFile | undefined
}
export interface UploadedFile {
  /** The path to poll and delete the file. */
  readonly path: string
  /** Refers to the file in a request. */
  readonly source: Extract<Source, { readonly type: 'file' }>
  readonly state: 'waiting' | 'ready' | 'failed'
  /** The reason of a failure. */
  readonly error?: string
}
