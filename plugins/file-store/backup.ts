/** Copies the bytes of all files into a folder, which is a file store itself, and back. */
import { isCode } from '../../engine/kit.ts'
import { makeFolder } from '../../engine/store/make-folder.ts'
import { DirectoryStore } from './directory-store.ts'
import { type FileStore, FileWriter } from './file-store.ts'
import type { StoredFile } from './stored-file.ts'

export interface BackupCounts {
  copied: number
  /** Right already, and not copied. */
  present: number
  /** Without bytes, or with others than were uploaded: not copied. */
  damaged: number
  /** Of the copied files. */
  bytes: number
}

/** Called after each file, whether or not it had to be copied. */
type Report = (file: StoredFile, isDamaged: boolean) => void

/** Verifies the SHA-256 of every file that it copies. */
export const copyFiles = async (
  store: FileStore,
  folder: string,
  report: Report,
): Promise<BackupCounts> => {
  makeFolder(folder)
  const target = new DirectoryStore(folder, 0)
  const counts: BackupCounts = { copied: 0, present: 0, damaged: 0, bytes: 0 }
  for await (const file of store.all()) {
    const isPresent = (await target.sizeOf(file.id)) === file.bytes
    const isCopied = !isPresent && (await copyFile(store, file, target))
    if (isPresent) counts.present++
    else if (isCopied) {
      counts.copied++
      counts.bytes += file.bytes
    } else counts.damaged++
    report(file, !isPresent && !isCopied)
  }
  return counts
}
const copyFile = async (
  store: FileStore,
  file: StoredFile,
  target: DirectoryStore,
): Promise<boolean> => {
  const writer = new FileWriter(file.id, await target.create(file.id, 'backup'))
  try {
    for await (const chunk of await store.read(file, 0, file.bytes)) await writer.write(chunk)
    const { bytes, sha256 } = await writer.commit()
    const isEqual = bytes === file.bytes && sha256 === file.sha256
    if (!isEqual) await target.remove(file.id)
    return isEqual
  } catch (error) {
    await writer.abort()
    if (isCode(error, 'FILE_LOST')) return false
    throw error
  }
}

/** Puts the bytes of files that have lost theirs back from a folder made by `copyFiles`, and
 *  verifies them. Bytes that are still right stay, whatever the folder holds. */
export const restoreFiles = async (
  store: FileStore,
  folder: string,
  report: Report,
): Promise<BackupCounts> => {
  const source = new DirectoryStore(folder, 0)
  const counts = { copied: 0, present: 0, damaged: 0, bytes: 0 }
  for await (const file of store.all()) {
    const isPresent = await store.isIntact(file)
    const isRestored = !isPresent && (await restoreFile(store, file, source))
    if (isPresent) counts.present++
    else if (isRestored) {
      counts.copied++
      counts.bytes += file.bytes
    } else counts.damaged++
    report(file, !isPresent && !isRestored)
  }
  return counts
}
const restoreFile = async (
  store: FileStore,
  file: StoredFile,
  source: DirectoryStore,
): Promise<boolean> =>
  (await source.sizeOf(file.id)) === file.bytes &&
  (await store.restore(file, await source.read(file.id, 0, file.bytes)))
