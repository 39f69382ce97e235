/** Streams that a death cut off: charged at what was noted of them, at the price that stands on their hold. */
import type { Database, Log, Row, Sql, Statement } from '../../engine/plugin.ts'
import { price } from '../billing/price.ts'
import { type Rule, thaw } from '../billing/rule.ts'
import { type Attribute, counted, type Facts } from '../billing/usage.ts'
import type { Meters, Usage } from '../slots.ts'
import { isCode } from './faults.ts'
import { nanosOf, settleCharge } from './statements.ts'
import { writeSurely } from './surely.ts'
import { walletsOf } from './wallet.ts'

/** Rows that are read at once. */
const AT_ONCE = 500
const NOTED: Sql = {
  name: 'ledger: noted',
  text: `SELECT request, account, key, rule, held, opened, noted, usage, attributes FROM charges
    WHERE state = 'open' AND noted IS NOT NULL ORDER BY request LIMIT ${AT_ONCE}`,
}
const NOTED_OF: Sql = {
  name: 'ledger: noted of one',
  text: NOTED.text.replace('noted IS NOT NULL', 'noted IS NOT NULL AND process = ?'),
}

const NOTE: Sql = {
  name: 'ledger: note',
  text: "UPDATE charges SET noted = ?, usage = ?, attributes = ? WHERE request = ? AND state = 'open'",
}
/** For a will: how far its stream had come, for whoever finds it. */
export const noteCharge = (note: {
  readonly request: string
  /** What was written so far. */
  readonly output: number
  /** JSON: the other meters. */
  readonly usage: string
  /** JSON, where the price goes by any. */
  readonly attributes: string | null
}): Statement => ({
  sql: NOTE,
  values: [note.output, note.usage, note.attributes, note.request],
})

/** Of a usage so far. `streaming`: the output grows with the progress of the exchange, and a crash before its first byte
 *  charges nothing; otherwise all of this usage has been delivered. */
export const noteOf = (
  request: string,
  { meters: { output = 0, ...others } }: Usage,
  { rule, facts }: { readonly rule: Rule; readonly facts: Facts },
  streaming: boolean,
): Statement => ({
  ...noteCharge({
    ...{ request, output, usage: JSON.stringify(others) },
    attributes: attributesOf(rule, facts),
  }),
  ...(streaming && { progress: 0 }),
})

/** Those of a request that its price goes by, as JSON; null: none. The rest is nobody's business. */
export const attributesOf = (rule: Rule, { attributes = {} }: Facts): string | null => {
  const named = new Set(
    rule.lines.flatMap(({ by, when }) => [
      ...by,
      ...when.flatMap(each => ('name' in each ? [each.name] : [])),
    ]),
  )
  const kept = Object.entries(attributes).filter(([name]) => named.has(name))
  return kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept))
}

/** Charges all that were left behind, or those of one process. */
export const settleNoted = async (
  database: Pick<Database, 'read' | 'write'>,
  log: Log,
  now: number,
  process?: string,
): Promise<void> => {
  let rows: readonly Row[]
  do {
    rows =
      process === undefined
        ? await database.read(NOTED, [])
        : await database.read(NOTED_OF, [process])
    for (const row of rows) await settleOne(database, log, row, now)
  } while (rows.length === AT_ONCE)
}
const settleOne = async (
  database: Pick<Database, 'write'>,
  log: Log,
  row: Row,
  now: number,
): Promise<void> => {
  try {
    await writeSurely(database, [settlementOf(row, now)])
    log.info({ request: row.request }, 'a stream that a death cut off was charged')
  } catch (thrown) {
    // Its own process lives after all, or another was faster.
    if (!isCode(thrown, 'CHARGE_CLOSED')) throw thrown
  }
}

const settlementOf = (row: Row, now: number) => {
  const meters: Meters = { ...parsed(row.usage), output: Number(row.noted) }
  const attributes = parsed(row.attributes) as Readonly<Record<string, Attribute>>
  const rule = thaw(String(row.rule))
  const { nanos, lines } = price(counted({ meters }), rule, { at: Number(row.opened), attributes })
  const held = nanosOf(row.held)
  const amount = nanos < held ? nanos : held
  const key = row.key === null ? undefined : Number(row.key)
  return settleCharge({
    ...{ request: String(row.request), amount, uncollected: nanos - amount, estimated: true },
    ...{ usage: JSON.stringify(meters), lines: JSON.stringify(lines), closed: now },
    wallets: walletsOf(Number(row.account), key),
  })
}
const parsed = (text: unknown): object => (typeof text === 'string' ? JSON.parse(text) : {})
