/** Stores files that the gateway makes itself: results of tasks. They belong to no account, so that
 *  no list shows them and no quota counts them. */
import type { Bytes } from '../../engine/plugin.ts'
import { fault } from './faults.ts'
import type { FileStore } from './file-store.ts'
import { DECISIVE_BYTES, mediaTypeOf } from './media-type.ts'
import { NO_ACCOUNT, type StoredFile } from './stored-file.ts'

export interface OwnFile {
  readonly purpose: 'result'
  /** Its name without the extension, which follows from the content. */
  readonly stem: string
  /** ms since 1970. */
  readonly expires: number
}
/** Makes the bytes durable, without a row: the caller writes it (`addOwnFile`) with what refers to
 *  the file. Bytes without a row are removed later. Rejects with FILE_TOO_LONG beyond `limit`, and
 *  leaves nothing then. */
export const writeOwnFile = async (
  store: FileStore,
  chunks: AsyncIterable<Bytes> | Iterable<Bytes>,
  { purpose, stem, expires }: OwnFile,
  limit: number,
): Promise<StoredFile> => {
  const writer = await store.begin()
  let start: Bytes = new Uint8Array()
  let size = 0
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > limit) throw fault('FILE_TOO_LONG', [limit])
      if (start.length < DECISIVE_BYTES) start = Buffer.concat([start, chunk])
      await writer.write(chunk)
    }
    const { type, extension } = mediaTypeOf(start)
    const row = { account: NO_ACCOUNT, purpose, filename: stem + extension, type, expires }
    return { ...row, ...(await writer.commit()), created: Date.now() }
  } catch (error) {
    // What cannot be removed now is removed later.
    await writer.abort().catch(() => {})
    throw error
  }
}
