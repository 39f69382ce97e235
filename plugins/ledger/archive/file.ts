/** Archive files: one charge a line as JSON, compressed with gzip; their digest, and how they are
 *  read again. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, readdirSync } from 'node:fs'
import { open, rename, rm, writeFile as writeText } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Row } from '../../../engine/plugin.ts'
import { COLUMNS, type WrittenFile } from './statements.ts'

/** Whole numbers that a double may not hold. */
const NANOS: ReadonlySet<string> = new Set(['held', 'amount', 'uncollected', 'plan_held'])
const JSON_TEXTS: ReadonlySet<string> = new Set([
  'usage',
  'lines',
  'attributes',
  'served',
  'budgets',
])

const lineOf = (row: Row): string => {
  const cells = COLUMNS.filter(column => row[column] !== null).map(column => {
    const value = row[column]
    const text = JSON_TEXTS.has(column)
      ? String(value)
      : JSON.stringify(NANOS.has(column) ? String(value) : value)
    return `"${column}":${text}`
  })
  return `{${cells.join()}}\n`
}

/** Writes charges to a file of the folder, durably, and removes what earlier runs left of it. Its
 *  name has a part of its digest: no file is ever replaced by another. Undefined: there were no
 *  charges, and there is no file. */
export const writeFile = async (
  folder: string,
  name: string,
  owner: string,
  charges: AsyncIterable<readonly Row[]>,
): Promise<WrittenFile | undefined> => {
  const partial = join(folder, `${name}-${owner}.partial`)
  let count = 0
  let amount = 0n
  async function* lines() {
    for await (const rows of charges) {
      count += rows.length
      for (const row of rows) amount += BigInt(row.amount as number | bigint)
      yield rows.map(lineOf).join('')
    }
  }
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(partial, { mode: 0o600 }))
  if (count === 0) return rm(partial).then(() => undefined)
  await sync(partial)
  const digest = await digestOf(partial)
  const file = `${name}-${digest.slice(0, 8)}.jsonl.gz`
  await rename(partial, join(folder, file))
  for (const each of readdirSync(folder))
    if (each.startsWith(`${name}-`) && each.endsWith('.partial')) await rm(join(folder, each))
  await sync(folder)
  return { file, digest, charges: count, amount }
}
/** Waits until a file, or the list of files of a folder, is on the disk. */
const sync = async (path: string): Promise<void> => {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
const digestOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** The charges of a file in batches; amounts are texts. Rejects where a line is damaged. */
export async function* readFile(path: string, size: number): AsyncGenerator<readonly Row[]> {
  const input = createReadStream(path)
  const text = createGunzip()
  // A damaged file ends the lines with this error.
  const failure = pipeline(input, text)
  failure.catch(() => {})
  let rows: Row[] = []
  for await (const line of createInterface({ input: text })) {
    rows.push(JSON.parse(line))
    if (rows.length < size) continue
    yield rows
    rows = []
  }
  await failure
  if (rows.length > 0) yield rows
}

/** The rows of a file. Rejects if it is damaged or absent. */
export const inspectFile = async (
  path: string,
  onCharges: (rows: readonly Row[]) => Promise<void> = async () => {},
): Promise<Omit<WrittenFile, 'file'>> => {
  const digest = await digestOf(path)
  let charges = 0
  let amount = 0n
  for await (const rows of readFile(path, BATCH)) {
    charges += rows.length
    for (const row of rows) amount += BigInt(String(row.amount))
    await onCharges(rows)
  }
  return { digest, charges, amount }
}
const BATCH = 1_000

/** Lists the digests of all files as `sha256sum --check` reads them. */
export const writeSums = async (
  folder: string,
  files: readonly Pick<WrittenFile, 'file' | 'digest'>[],
): Promise<void> => {
  const path = join(folder, 'SHA256SUMS')
  const text = files.map(({ file, digest }) => `${digest}  ${file}\n`).join('')
  await writeText(`${path}.partial`, text, { mode: 0o600 })
  await sync(`${path}.partial`)
  await rename(`${path}.partial`, path)
  await sync(dirname(path))
}
