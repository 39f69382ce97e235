/** The mark in an embedded store that was moved: where its rows are now. A store with the mark is
 *  out of use until it is removed. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fault } from '../faults.ts'

export const MARK_TABLE = 'tollgate_moved'

export interface MoveMark {
  /** The URL of the new store, without user and password. */
  readonly target: string
  /** ms since 1970. */
  readonly at: number
}

/** Undefined for a store in use, and if no store can be read. */
export const readMoveMark = (file: string): MoveMark | undefined => {
  if (!existsSync(file)) return undefined
  try {
    return withStore(file, true, store => {
      const row = store.prepare(`SELECT target, at FROM ${MARK_TABLE}`).get()
      return row && { target: String(row.target), at: Number(row.at) }
    })
  } catch {
    // No such table. A damaged store is reported by what opens it next.
    return undefined
  }
}
/** `target`: without user and password. */
export const writeMoveMark = (file: string, target: string, at: number): void =>
  withStore(file, false, store => {
    store.exec(
      `CREATE TABLE IF NOT EXISTS ${MARK_TABLE} (target TEXT NOT NULL, at INTEGER NOT NULL)`,
    )
    store.exec(`DELETE FROM ${MARK_TABLE}`)
    store.prepare(`INSERT INTO ${MARK_TABLE} VALUES (?, ?)`).run(target, at)
  })
/** The store is in use again. */
export const removeMoveMark = (file: string): void =>
  withStore(file, false, store => store.exec(`DROP TABLE IF EXISTS ${MARK_TABLE}`))

/** Throws STORE_MOVED for a store that was moved. */
export const refuseMoved = (file: string): void => {
  const mark = readMoveMark(file)
  if (mark) throw fault('STORE_MOVED', [file, mark.target, new Date(mark.at).toISOString()])
}

const withStore = <T>(file: string, readOnly: boolean, use: (store: DatabaseSync) => T): T => {
  const store = new DatabaseSync(file, { readOnly, timeout: 5_000 })
  try {
    return use(store)
  } finally {
    store.close()
  }
}
