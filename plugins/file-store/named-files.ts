/** Stored files that a request names: found for its account, checked for their places and their
 *  size, and read as base64. */
import type { HostBase } from '../../engine/plugin.ts'
import type { Caller } from '../credentials/members.ts'
import type { NamedFile } from '../slots.ts'
import { fault } from './faults.ts'
import { type FileStore, fileStoreOf } from './file-store.ts'
import type { StoredFile } from './stored-file.ts'

/** A place of a request that names a file. */
export interface FileReference {
  readonly id: string
  /** Path of the client's request. */
  readonly at: string
  /** Whether the place takes images only. */
  readonly isImage: boolean
}
interface NamedFiles {
  /** By id. */
  readonly files: ReadonlyMap<string, NamedFile>
  /** Bytes of all of them, encoded as base64; a file counts for each place. */
  readonly bytes: number
}

/** Throws FILE_NOT_FOUND, also for files that the caller may not see; FILE_NO_IMAGE;
 *  FILES_TOO_LARGE. `limit`: bytes of all files as base64, if it is below that of
 *  `settings.files`. */
export const findNamedFiles = async (
  host: HostBase,
  caller: Caller | undefined,
  references: readonly FileReference[],
  limit = Number.POSITIVE_INFINITY,
): Promise<NamedFiles> => {
  const stored = await readFiles(host, caller, references)
  const files = new Map<string, NamedFile>()
  let bytes = 0
  for (const { id, at, isImage } of references) {
    const file = stored.get(id)
    if (!file) throw fault('FILE_NOT_FOUND', [at, id], { param: at })
    const named = files.get(id) ?? namedFileOf(file, fileStoreOf(host))
    files.set(id, named)
    if (isImage && !named.mime.startsWith('image/'))
      throw fault('FILE_NO_IMAGE', [at, id, named.mime], { param: at })
    bytes += named.size
    const largest = Math.min(limit, fileStoreOf(host).settings.inlineLimit)
    if (bytes > largest) throw fault('FILES_TOO_LARGE', [at, largest], { param: at })
  }
  return { files, bytes }
}
const readFiles = async (
  host: HostBase,
  caller: Caller | undefined,
  references: readonly FileReference[],
): Promise<ReadonlyMap<string, StoredFile>> => {
  // Without the plugin `files` there is no table.
  const hasTable = host.section<readonly string[]>('pipeline').includes('files')
  if (!caller || !hasTable) return new Map()
  const ids = [...new Set(references.map(({ id }) => id))]
  const files = await fileStoreOf(host).findNamed(ids, caller)
  return new Map(files.map(file => [file.id, file]))
}

const namedFileOf = (file: StoredFile, store: FileStore): NamedFile => {
  let base64: Promise<string> | undefined
  return {
    mime: file.type.split(';', 1)[0] ?? '',
    filename: file.filename,
    size: Math.ceil(file.bytes / 3) * 4,
    base64: () => {
      base64 ??= readBase64(file, store)
      return base64
    },
  }
}
const readBase64 = async (file: StoredFile, store: FileStore): Promise<string> => {
  const bytes = Buffer.allocUnsafe(file.bytes)
  let size = 0
  for await (const chunk of await store.read(file, 0, file.bytes)) {
    bytes.set(chunk.subarray(0, file.bytes - size), size)
    size += chunk.length
  }
  if (size !== file.bytes) throw fault('FILE_LOST', [file.id])
  return bytes.toString('base64')
}
