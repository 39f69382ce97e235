/** Moves an embedded store to PostgreSQL: tables after those that they refer to, rows in batches,
 *  then counts and sums of every column on both sides. Run again, it goes on where it was. */
import { fault } from '../faults.ts'
import { quote, type Source, type SourceTable } from './source.ts'
import type { Target, TargetTable } from './target.ts'

export interface MoveReport {
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  /** Rows that this run copied; the rest was there from an interrupted run. */
  readonly copied: number
}
export interface MoveOptions {
  readonly source: Source
  readonly target: Target
  /** Tables that stay behind. */
  readonly without: readonly string[]
  /** Called after each batch. */
  report(table: string, done: number, rows: number, unit: string): void
}

interface Pair {
  readonly from: SourceTable
  readonly to: TargetTable
}

export const moveTables = async (options: MoveOptions): Promise<MoveReport> => {
  const { source, target } = options
  const pairs = await pairTables(options)
  const positions = await target.positions()
  let copied = 0
  for (const pair of inOrder(pairs)) {
    if (!positions.has(pair.to.name)) await target.begin(pair.to)
    copied += await copyRows(pair, positions.get(pair.to.name) ?? 0n, options)
  }
  for (const pair of pairs) await compare(pair, source, target)
  return { tables: pairs.map(({ from: { name, rows } }) => ({ name, rows })), copied }
}

/** Every table with its counterpart. Throws if a row would stay behind. */
const pairTables = async ({ source, target, without }: MoveOptions): Promise<readonly Pair[]> => {
  const applied = await target.migrations()
  for (const migration of source.migrations())
    if (!applied.has(migration)) throw fault('MOVE_VERSION', [migration])
  const counterparts = await target.tables()
  return source.tables().flatMap(from => {
    if (without.includes(from.name)) return []
    const to = counterparts.get(from.name)
    if (to && hasSameColumns(from, to)) return [{ from, to }]
    if (to) throw fault('MOVE_COLUMNS', [from.name])
    if (from.rows > 0) throw fault('MOVE_TABLE', [from.name, from.rows, from.name])
    return []
  })
}
const hasSameColumns = ({ columns }: SourceTable, to: TargetTable): boolean =>
  columns.length === to.columns.size && columns.every(column => to.columns.has(column))

/** Tables after those that their foreign keys refer to. */
const inOrder = (pairs: readonly Pair[]): readonly Pair[] => {
  const ordered = new Set<Pair>()
  const visit = (pair: Pair, path: readonly string[]): void => {
    const { name, parents } = pair.to
    if (ordered.has(pair) || path.includes(name)) return
    for (const parent of pairs.filter(({ to }) => parents.includes(to.name)))
      visit(parent, [...path, name])
    ordered.add(pair)
  }
  for (const pair of pairs) visit(pair, [])
  return [...ordered]
}

const copyRows = async (
  { from, to }: Pair,
  position: bigint,
  { source, target, report }: MoveOptions,
): Promise<number> => {
  let copied = 0
  for (const batch of source.batches(from, position)) {
    try {
      await target.append(to, from, batch)
    } catch (error) {
      throw fault('MOVE_FAILED', [from.name, (error as Error).message])
    }
    copied += batch.rows
    report(from.name, copied, from.rows, 'rows')
  }
  return copied
}

// ---------------------------------------------------------------- comparison

/** Sums of 64-bit numbers overflow, sums of these parts do not. */
const MODULUS = 2_147_483_647
const SUMMED = /^(bigint|integer)$/
const MEASURED = /^(text|bytea)$/

const sumsOf = (columns: TargetTable['columns']): readonly string[] =>
  [...columns].flatMap(([column, type]) => {
    const name = quote(column)
    const parts = [`count(${name})`]
    if (SUMMED.test(type)) parts.push(`sum(${name} / ${MODULUS})`, `sum(${name} % ${MODULUS})`)
    if (MEASURED.test(type)) parts.push(`sum(length(${name}))`)
    return parts
  })

/** Throws MOVE_DIFFERS unless both sides have as many rows with the same sums. */
const compare = async ({ from, to }: Pair, source: Source, target: Target): Promise<void> => {
  const parts = ['count(*)', ...sumsOf(to.columns)].map((part, index) => `${part} AS s${index}`)
  const text = `SELECT ${parts.join(', ')} FROM ${quote(from.name)}`
  const [here, there] = [source.query(text), await target.query(text)]
  for (const [index, part] of parts.entries()) {
    const [one, other] = [here, there].map(row => String(row[`s${index}`] ?? 0))
    if (one !== other) throw fault('MOVE_DIFFERS', [from.name, part, one, other])
  }
}
