/** Copies an embedded store into a file that can replace it. The copy only reads, so the writer can
 *  go on. */
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { fault } from '../faults.ts'

/** Called now and then with the bytes copied so far, and with those that a copy has. */
export type CopyReport = (done: number, all: number) => void

/** ms between two calls of the report. */
const INTERVAL = 500

/** Rejects with STORE_COPY if the copy is damaged. */
export const copyStore = async (
  from: string,
  to: string,
  report: CopyReport = () => {},
): Promise<void> => {
  // Only the owner may read the copy.
  const previousUmask = process.umask(0o177)
  const size = sizeOfCopy(from)
  const timer = setInterval(() => {
    if (existsSync(to)) report(Math.min(statSync(to).size, size), size)
  }, INTERVAL)
  try {
    await runInThread(COPY, { from, to })
    report(size, size)
    const integrity = await runInThread(CHECK, { to })
    if (integrity !== 'ok') throw fault('STORE_COPY', [to, integrity])
  } finally {
    clearInterval(timer)
    process.umask(previousUmask)
  }
}

/** Bytes of the pages in use. */
const sizeOfCopy = (file: string): number => {
  const store = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    const numberOf = (name: string) =>
      Number(Object.values(store.prepare(`PRAGMA ${name}`).get() ?? {})[0])
    return (numberOf('page_count') - numberOf('freelist_count')) * numberOf('page_size')
  } finally {
    store.close()
  }
}

// Both take seconds for a large store; in a thread, the caller can report and be interrupted.
const COPY = `
  const source = new DatabaseSync(from, { readOnly: true, timeout: 5_000 })
  source.prepare('VACUUM INTO ?').run(to)`
const CHECK = `
  const copy = new DatabaseSync(to, { readOnly: true })
  result = copy.prepare('PRAGMA integrity_check').get()?.integrity_check`

/** Runs statements in a thread; resolves to what they assign to `result`. */
const runInThread = async (statements: string, files: Readonly<Record<string, string>>) => {
  const code = `
    const { parentPort, workerData: { from, to } } = require('node:worker_threads')
    const { DatabaseSync } = require('node:sqlite')
    let result
    ${statements}
    parentPort.postMessage(result)`
  const [result] = await once(new Worker(code, { eval: true, workerData: files }), 'message')
  return result as unknown
}

/** Whether a store holds anything: a table of a plugin with a row. */
export const hasRows = (file: string): boolean => {
  if (!existsSync(file)) return false
  const store = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    const tables = store
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name))
    return tables
      .filter(name => !/^(sqlite|tollgate)_|^credential_changes$/.test(name))
      .some(name => store.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() !== undefined)
  } finally {
    store.close()
  }
}
