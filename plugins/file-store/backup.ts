/** Copies the bytes of all files into a folder, which is a file store itself, and back. */
import { mkdir } from 'node:fs/promises'
import { isCode } from '../../engine/kit.ts'
import { DirectoryStore } from './directory-store.ts'
import { type FileStore, FileWriter } from './file-store.ts'
import type { StoredFile } from './stored-file.ts'

export interface BackupCounts {
  copied: number
  /** Copied by an earlier run. */
  present: number
  /** Without bytes, or with others than were uploaded: not copied. */
  damaged: number
  /** Of the copied files. */
  bytes: number
}

/** Verifies the SHA-256 of every file that it copies. `report`: called for each damaged one. */
export const copyFiles = async (
  store: FileStore,
  folder: string,
  report: (file: StoredFile) => void,
): Promise<BackupCounts> => {
  await mkdir(folder, { recursive: true })
  const target = new DirectoryStore(folder, 0)
  const counts: BackupCounts = { copied: 0, present: 0, damaged: 0, bytes: 0 }
  for await (const file of store.all()) {
    if ((await target.sizeOf(file.id)) === file.bytes) counts.present++
    else if (await copyFile(store, file, target)) {
      counts.copied++
      counts.bytes += file.bytes
    } else {
      counts.damaged++
      report(file)
    }
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

/** Puts the bytes of all files back from a folder made by `copyFiles`, and verifies them. */
export const restoreFiles = async (
  store: FileStore,
  folder: string,
  report: (file: StoredFile) => void,
): Promise<Pick<BackupCounts, 'copied' | 'damaged' | 'bytes'>> => {
  const source = new DirectoryStore(folder, 0)
  const counts = { copied: 0, damaged: 0, bytes: 0 }
  for await (const file of store.all()) {
    const isThere = (await source.sizeOf(file.id)) === file.bytes
    const chunks = isThere ? await source.read(file.id, 0, file.bytes) : []
    if (isThere && (await store.restore(file, chunks))) {
      counts.copied++
      counts.bytes += file.bytes
    } else {
      counts.damaged++
      report(file)
    }
  }
  return counts
}
