/** Files of results that are in the file store: sent to the client, and removed with their task. */
import { isCode } from '../../../engine/kit.ts'
import type { Exchange, HostBase } from '../../../engine/plugin.ts'
import { download } from '../../file-store/download.ts'
import { fileStoreOf } from '../../file-store/file-store.ts'
import type { Copy } from '../task.ts'

/** Rejects with FILE_UNKNOWN where it was removed. */
export const sendCopy = async (
  exchange: Exchange,
  host: HostBase,
  { file }: Copy,
): Promise<void> => {
  const store = fileStoreOf(host)
  await download(exchange, store, await store.find(file, undefined), 'attachment')
}
export const removeCopy = async (host: HostBase, { file }: Copy): Promise<void> => {
  const store = fileStoreOf(host)
  try {
    await store.remove(await store.find(file, undefined))
  } catch (error) {
    // It has expired, or was removed before.
    if (!isCode(error, 'FILE_UNKNOWN')) throw error
  }
}
