/** Reads the tables of new-api or one-api: from their SQLite file, or from a dump as one JSON file
 *  of tables, or as a folder with a file for each table: JSON, JSON lines or CSV. */
import { existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs'
import { join, parse as parsePath } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UsageError } from '../../../engine/cli/kit.ts'
import { isFields } from '../../../engine/kit.ts'

export type Cell = string | number | boolean | null
export type TableRow = Readonly<Record<string, Cell>>
export type Tables = ReadonlyMap<string, readonly TableRow[]>

/** Throws a UsageError if the file cannot be read, or has no accounts and channels. */
export const readTables = (path: string): Tables => {
  const tables = tablesIn(path)
  if (!tables.has('users') && !tables.has('channels'))
    throw new UsageError(
      `${path} has neither a table users nor channels: give the SQLite file of new-api or one-api, a JSON file { "users": [ … ], … }, or a folder with users.json, users.jsonl or users.csv`,
    )
  return tables
}

const tablesIn = (path: string): Tables => {
  if (!existsSync(path)) throw new UsageError(`cannot read ${path}: there is no such file`)
  if (statSync(path).isDirectory()) return folderTables(path)
  if (isSqlite(path)) return sqliteTables(path)
  const document = attempt(path, () => JSON.parse(readFileSync(path, 'utf8')) as unknown)
  if (!isFields(document)) throw new UsageError(`${path} must be an object of tables`)
  return new Map(Object.entries(document).map(([name, rows]) => [name, rowsIn(path, rows)]))
}
const folderTables = (folder: string): Tables =>
  new Map(
    readdirSync(folder).flatMap(file => {
      const { name, ext } = parsePath(file)
      const path = join(folder, file)
      if (ext === '.csv') return [[name, csvRows(readFileSync(path, 'utf8')).map(textCells)]]
      return ['.json', '.jsonl'].includes(ext) ? [[name, rowsIn(path, jsonOf(path))]] : []
    }),
  )

const isSqlite = (path: string): boolean => {
  const head = Buffer.alloc(15)
  readSync(openSync(path, 'r'), head)
  return head.toString('latin1') === 'SQLite format 3'
}
const sqliteTables = (path: string): Tables => {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const names = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all()
    return new Map(
      names.map(({ name }) => [
        String(name),
        database
          .prepare(`SELECT * FROM "${name}"${LIMITS[String(name)] ?? ''}`)
          .all()
          .map(textCells),
      ]),
    )
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`)
  } finally {
    database.close()
  }
}
/** The history may have millions of rows, and is not carried. */
const LIMITS: Readonly<Record<string, string>> = { logs: ' LIMIT 1' }
/** JSON columns may be blobs, of PostgreSQL in hexadecimal digits, and values in JSON. */
const textCells = (row: Readonly<Record<string, unknown>>): TableRow =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cellOf(value)]))
const cellOf = (value: unknown): Cell => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  const isBytes = typeof value === 'string' && /^\\x(?:[0-9a-f]{2})*$/.test(value)
  return isBytes ? Buffer.from(value.slice(2), 'hex').toString() : (value as Cell)
}

const attempt = <Value>(path: string, read: () => Value): Value => {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`)
  }
}
/** A list of rows, or a row in each line. */
const jsonOf = (path: string): unknown =>
  attempt(path, () => {
    const text = readFileSync(path, 'utf8').trim()
    if (text.startsWith('[') || text === 'null') return JSON.parse(text)
    return jsonLines(text)
  })
/** `\copy` of PostgreSQL doubles each backslash, in its format `text`. */
const jsonLines = (text: string): readonly unknown[] => {
  const parse = (lines: string) =>
    lines.split('\n').flatMap(line => (line.trim() === '' ? [] : [JSON.parse(line)]))
  if (/(?<!\\)(?:\\\\)*\\(?!\\)/.test(text) || !text.includes('\\')) return parse(text)
  try {
    return parse(text.replaceAll('\\\\', '\\'))
  } catch {
    return parse(text)
  }
}
/** `json_agg` of no rows is null. */
const rowsIn = (path: string, value: unknown): readonly TableRow[] => {
  if (value === null) return []
  if (Array.isArray(value) && value.every(isFields)) return value.map(textCells)
  throw new UsageError(`${path}: a table must be a list of rows, each an object`)
}

/** RFC 4180; the first line names the columns. `\N` and NULL are null. */
export const csvRows = (text: string): readonly TableRow[] => {
  const [header = [], ...rows] = [
    ...text
      .replace(/^\uFEFF/, '')
      .matchAll(/(?:^|\n)((?:"(?:[^"]|"")*"|[^"\r\n])*)(?=\r?\n|\r?$)/g),
  ]
    .map(([, line = '']) => line)
    .filter(line => line !== '')
    .map(cellsIn)
  return rows.map(cells =>
    Object.fromEntries(header.map((name, at) => [String(name), cells[at] ?? null])),
  )
}
const cellsIn = (line: string): Cell[] =>
  [...`,${line}`.matchAll(/,("(?:[^"]|"")*"|[^,]*)/g)].map(([, cell = '']) => {
    if (cell.startsWith('"')) return cell.slice(1, -1).replaceAll('""', '"')
    return cell === '\\N' || cell === 'NULL' ? null : cell
  })

// ---------------------------------------------------------------- cells

export const numberIn = (cell: Cell | undefined): number => {
  const number = Number(cell ?? 0)
  return Number.isFinite(number) ? number : 0
}
/** Fixed-width columns of PostgreSQL are padded. */
export const textIn = (cell: Cell | undefined): string => String(cell ?? '').trim()
export const flagIn = (cell: Cell | undefined): boolean =>
  ['1', 'true', 't'].includes(String(cell).toLowerCase())
/** An empty object for an empty cell or one that is not a JSON object. */
export const jsonIn = (cell: Cell | undefined): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(textIn(cell) || '{}')
    return isFields(value) ? value : {}
  } catch {
    return {}
  }
}
export const listIn = (cell: Cell | undefined): readonly string[] =>
  textIn(cell)
    .split(',')
    .map(each => each.trim())
    .filter(Boolean)
export const isDeleted = ({ deleted_at }: TableRow): boolean => textIn(deleted_at ?? null) !== ''
