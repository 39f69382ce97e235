/** Stores files that the gateway makes itself: results of tasks and generated images. They belong
 *  to no account, so that no list shows them and no quota counts them. */
import type { Bytes, HostBase } from '../../engine/plugin.ts'
import { DECISIVE_BYTES, mediaTypeOf } from '../formats/media/media-type.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { fault } from './faults.ts'
import { type FileStore, fileStoreOf } from './file-store.ts'
import { SIGNED_LIFETIME, signedUrl } from './signed-url.ts'
import { addOwnFile } from './statements.ts'
import { NO_ACCOUNT, type StoredFile } from './stored-file.ts'

export interface OwnFile {
  readonly purpose: 'result' | 'image'
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
    const row = {
      account: NO_ACCOUNT,
      maker: {},
      purpose,
      filename: stem + extension,
      type,
      expires,
    }
    return { ...row, ...(await writer.commit()), created: Date.now() }
  } catch (error) {
    // Files that cannot be removed now are removed later.
    await writer.abort().catch(() => {})
    throw error
  }
}
/** Stores bytes as long as a signed URL is valid, and returns this URL. */
export const storeBehindUrl = async (
  host: HostBase,
  bytes: Bytes,
  file: Omit<OwnFile, 'expires'>,
): Promise<string> => {
  const store = fileStoreOf(host)
  const now = Date.now()
  const expires = now + SIGNED_LIFETIME
  const stored = await writeOwnFile(store, [bytes], { ...file, expires }, bytes.length)
  await writeWithRetry(host.database, [addOwnFile(stored)])
  return signedUrl(host, stored, now)
}
