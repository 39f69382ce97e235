/** Moves old charges from the ledger to files, beside a running gateway.
 *
 *    reserved ──> verified and recorded ──> removed in small transactions ──> complete
 *
 *  After a crash the next run continues: it writes an unrecorded file again, and removes the rest
 *  of a recorded one. A charge leaves the ledger in the transaction that counts it
 *  as removed, so that none is lost or counted twice. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database, ReportProgress, Row, Value } from '../../../engine/plugin.ts'
import { makeFolder } from '../../../engine/store/make-folder.ts'
import { nanosOf } from '../statements.ts'
import { writeWhileAway } from '../write-with-retry.ts'
import { fault } from './faults.ts'
import { inspectFile, readFile, writeFile, writeSums } from './file.ts'
import {
  cancel,
  FILES,
  LAST_ID,
  OLD_CHARGES,
  PRESENT,
  record,
  remove,
  reserve,
  takeOver,
  UNFINISHED,
  type WrittenFile,
} from './statements.ts'

type Store = Pick<Database, 'read' | 'write' | 'pages' | 'now'>
export interface ArchiveOptions {
  readonly folder: string
  /** ms since 1970: charges that were opened and closed before. */
  readonly before: number
  readonly report?: ReportProgress | undefined
  /** Charges of a file, and of a transaction that removes some. */
  readonly sizes?: { readonly file: number; readonly removal: number }
  /** ms for which the store may be away: a run takes hours. Five minutes by default. */
  readonly absence?: number
}
export interface ArchiveResult {
  readonly files: readonly string[]
  readonly charges: number
}
const SIZES = { file: 100_000, removal: 250 }
const READ_PAGE = 1_000
const ABSENCE = 5 * 60_000

/** Rejects with ARCHIVE_RUNNING while another run archives, or ARCHIVE_FILE if an unfinished file
 *  is absent or damaged. */
export const archiveCharges = async (
  database: Store,
  options: ArchiveOptions,
): Promise<ArchiveResult> => {
  makeFolder(options.folder, 0o700)
  const run = new ArchiveRun(database, options)
  const files: string[] = []
  let charges = 0
  for (;;) {
    const file = await run.next()
    if (!file) return { files, charges }
    files.push(file.file)
    charges += file.charges
  }
}

class ArchiveRun {
  readonly #database: Store
  readonly #options: ArchiveOptions
  readonly #sizes: typeof SIZES
  /** Marks the files of this run, so that two runs never record the same one. */
  readonly #owner = randomUUID()

  constructor(database: Store, options: ArchiveOptions) {
    this.#database = database
    this.#options = options
    this.#sizes = options.sizes ?? SIZES
  }
  /** Completes the unfinished file, or the next one. Undefined: no old charge is left. */
  async next(): Promise<WrittenFile | undefined> {
    const [unfinished] = await this.#database.read(UNFINISHED, [])
    const file =
      unfinished?.digest == null
        ? await this.#writeFile(await this.#reserve(unfinished))
        : await this.#recorded(Number(unfinished.id))
    if (file) await this.#remove(file, Number(unfinished?.removed ?? 0))
    return file
  }
  /** The number of the next file, or of one that an earlier run has not recorded. */
  async #reserve(unfinished: Row | undefined): Promise<number> {
    const { before } = this.#options
    const [last] = unfinished ? [unfinished] : await this.#database.read(LAST_ID, [])
    const id = Number(last?.id) + (unfinished ? 0 : 1)
    const now = await this.#database.now()
    await this.#write([
      unfinished ? takeOver(id, before, this.#owner) : reserve(id, before, this.#owner, now),
    ])
    return id
  }
  async #writeFile(id: number): Promise<RecordedFile | undefined> {
    const name = `charges-${String(id).padStart(6, '0')}`
    const { folder } = this.#options
    const file = await writeFile(folder, name, this.#owner, this.#charges())
    if (!file) return this.#write([cancel(id, this.#owner)]).then(() => undefined)
    await this.#verify(file)
    await this.#write([record(id, this.#owner, file, await this.#database.now())])
    const files = await recordedFiles(this.#database)
    await writeSums(folder, files)
    return files.find(file => file.id === id)
  }
  /** The oldest charges, as many as one file takes. */
  async *#charges(): AsyncGenerator<readonly Row[]> {
    const { before } = this.#options
    let opened: Value = 0
    let request: Value = ''
    for (let rest = this.#sizes.file; rest > 0; ) {
      const size = Math.min(rest, READ_PAGE)
      const values: readonly Value[] = [opened, before, before, opened, request, size]
      const rows = await this.#database.read(OLD_CHARGES, values)
      const last = rows.at(-1)
      if (!last) return
      yield rows
      rest -= rows.length
      opened = last.opened ?? 0
      request = last.request ?? ''
    }
  }
  async #recorded(id: number): Promise<RecordedFile> {
    const files = await recordedFiles(this.#database)
    const file = files.find(file => file.id === id)
    if (!file) throw fault('ARCHIVE_RUNNING')
    await this.#verify(file)
    return file
  }
  /** Reads the file back from the disk. */
  async #verify(expected: WrittenFile): Promise<void> {
    const path = join(this.#options.folder, expected.file)
    const problem = await problemOf(path, expected)
    if (problem) throw fault('ARCHIVE_FILE', [path, problem])
  }
  async #remove({ id, file, charges }: RecordedFile, before: number): Promise<void> {
    const size = this.#sizes.removal
    let removed = before
    let skipped = 0
    for await (const rows of readFile(join(this.#options.folder, file), size)) {
      const rest = rows.slice(Math.max(0, removed - skipped))
      skipped += rows.length
      if (rest.length === 0) continue
      const start = performance.now()
      await this.#write(remove(id, removed, rest))
      removed += rest.length
      this.#options.report?.(`removed after ${file}`, removed, charges, 'charges')
      // Calls get at least half of the time of the store.
      await pause(performance.now() - start)
    }
  }
  async #write(list: Parameters<Database['write']>[0]): Promise<void> {
    const deadline = performance.now() + (this.#options.absence ?? ABSENCE)
    await writeWhileAway(this.#database, list, () => performance.now() < deadline).catch(error => {
      throw isTaken(error) ? fault('ARCHIVE_RUNNING') : error
    })
  }
}
const isTaken = ({ code }: { readonly code?: string }): boolean =>
  code === 'ARCHIVE_TAKEN' || code === 'ARCHIVE_CHANGED'

interface RecordedFile extends WrittenFile {
  readonly id: number
  /** Whether the ledger has none of its charges any more. */
  readonly isComplete: boolean
  /** ms since 1970. */
  readonly at: number
}
const recordedFiles = async (database: Pick<Database, 'pages'>): Promise<RecordedFile[]> => {
  const files: RecordedFile[] = []
  for await (const rows of database.pages(FILES, [0], READ_PAGE))
    for (const row of rows)
      if (row.digest !== null)
        files.push({
          id: Number(row.id),
          file: String(row.file),
          digest: String(row.digest),
          charges: Number(row.charges),
          amount: nanosOf(row.amount),
          isComplete: Number(row.removed) === Number(row.charges),
          at: Number(row.at),
        })
  return files
}

/** Why a file is not the one that was recorded; undefined: it is. */
const problemOf = async (
  path: string,
  expected: WrittenFile,
  onCharges?: Parameters<typeof inspectFile>[1],
): Promise<string | undefined> => {
  if (!existsSync(path)) return 'it is absent'
  try {
    const { digest, charges, amount } = await inspectFile(path, onCharges)
    if (digest !== expected.digest)
      return `its SHA-256 is ${digest}, the ledger has recorded ${expected.digest}`
    if (charges === expected.charges && amount === expected.amount) return undefined
    return `it has ${charges} charges of ${amount} nanos, not ${expected.charges} of ${expected.amount}`
  } catch (error) {
    return `it is damaged: ${(error as Error).message}`
  }
}

export interface Verification extends RecordedFile {
  readonly problem: string | undefined
}
/** Verifies recorded files: all, or the one of this name. Rejects with ARCHIVE_UNKNOWN. */
export const verifyArchives = async (
  database: Pick<Database, 'read' | 'pages'>,
  folder: string,
  name: string | undefined,
  report?: ReportProgress,
): Promise<readonly Verification[]> => {
  const files = (await recordedFiles(database)).filter(
    ({ file }) => name === undefined || file === name,
  )
  if (name !== undefined && files.length === 0) throw fault('ARCHIVE_UNKNOWN', [name])
  const results: Verification[] = []
  for (const [index, file] of files.entries()) {
    report?.('verified', index, files.length, 'files')
    let present = 0
    const onCharges = async (rows: readonly Row[]) => {
      const requests = JSON.stringify(rows.map(({ request }) => request))
      const [row] = file.isComplete ? await database.read(PRESENT, [requests]) : []
      present += Number(row?.number ?? 0)
    }
    const problem = await problemOf(join(folder, file.file), file, onCharges)
    const twice = present > 0 ? `the ledger still has ${present} of its charges` : undefined
    results.push({ ...file, problem: problem ?? twice })
  }
  return results
}
