/** How a format's upstreams take a file that is too large to stand in a request. Types only. */
import type { Headers } from '../../engine/plugin.ts'
import type { Source } from './content.ts'
import type { Fields } from './fields.ts'

export interface Upload {
  /** What asks for a place to send it to. */
  begin(file: { readonly size: number; readonly mime: string }): {
    readonly path: string
    readonly headers: Headers
    readonly body: Fields
  }
  /** The path of that place, from the headers of the answer; undefined where they name none. */
  place(headers: Headers): string | undefined
  /** Beside the bytes, which go there in one piece. */
  readonly sending: Headers
  /** What the upstream says of a file: once it has it, and each time it is asked. Undefined where that is none. */
  read(body: Fields): Uploaded | undefined
}
export interface Uploaded {
  /** Where it is asked for, and deleted. */
  readonly path: string
  /** What names it in a request. */
  readonly source: Extract<Source, { readonly type: 'file' }>
  readonly state: 'waiting' | 'ready' | 'failed'
  /** Why it failed. */
  readonly said?: string
}
