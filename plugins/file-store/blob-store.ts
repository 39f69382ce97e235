/** Where the bytes of files are: a directory, or a service. Types only. */
import type { Bytes } from '../../engine/plugin.ts'

export interface BlobStore {
  /** Begins to store bytes under a name; nothing is there before `commit`. Rejects with
   *  STORAGE_FULL if there is no room. `process`: the one that writes. */
  create(name: string, process: string): Promise<BlobWriter>
  /** The bytes from `start` to `end`, exclusive. Rejects with FILE_LOST if there are none. */
  read(name: string, start: number, end: number): Promise<AsyncIterable<Bytes>>
  /** Does nothing if there are none. */
  remove(name: string): Promise<void>
  /** Everything that is stored, in pages. */
  pages(): AsyncIterable<readonly Blob[]>
  /** Removes what was begun and not touched since then (ms since 1970). Returns their number. */
  removeUnfinished(before: number): Promise<number>
  /** Removes what a dead process began. Absent if the store does not know who began what. */
  removeUnfinishedOf?(process: string): Promise<void>
}
export interface BlobWriter {
  /** Copies the bytes. A promise: the caller waits before it writes more. */
  write(bytes: Bytes): Promise<void> | undefined
  /** Durable when it resolves. */
  commit(): Promise<void>
  /** Leaves nothing. Does nothing after `commit`. */
  abort(): Promise<void>
}
export interface Blob {
  readonly name: string
  readonly bytes: number
  /** ms since 1970. */
  readonly modified: number
}
