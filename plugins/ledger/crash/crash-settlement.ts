/** Crash settlement: charges the calls of a crashed process by their last checkpoint, at the price
 *  of their hold. */
import type { Database, Log, Row, Sql, Statement } from '../../../engine/plugin.ts'
import { price, priceParts } from '../../billing/price.ts'
import { type Rule, thaw } from '../../billing/rule.ts'
import { type Attribute, type Facts, toExactUsage } from '../../billing/usage.ts'
import type { Meters, Usage, UsagePart } from '../../slots.ts'
import { tokensUsed } from '../budgets/tokens.ts'
import { isCode } from '../faults.ts'
import { settledPart } from '../plans/part.ts'
import { nanosOf, settleCharge, windowsOf } from '../statements.ts'
import { walletsOf } from '../wallet.ts'
import { writeWithRetry } from '../write-with-retry.ts'
import { markReaped } from './late-charge.ts'

/** The maximum number of rows in one read. */
const BATCH = 500
// In any order: for the order of requests SQLite would read all charges.
const CHECKPOINTS: Sql = {
  name: 'ledger: checkpoints',
  text: `SELECT request, account, key, rule, held, opened, noted, usage, attributes, budgets, plan, plan_held, plan_tokens, tokens_held FROM charges
    WHERE state = 'open' AND noted IS NOT NULL LIMIT ${BATCH}`,
}
const CHECKPOINTS_OF: Sql = {
  name: 'ledger: checkpoints of a process',
  text: CHECKPOINTS.text.replace('noted IS NOT NULL', 'noted IS NOT NULL AND process = ?'),
}

const UPDATE_CHECKPOINT: Sql = {
  name: 'ledger: checkpoint',
  text: "UPDATE charges SET noted = ?, usage = ?, attributes = ?, served = coalesce(CAST(? AS TEXT), served) WHERE request = ? AND state = 'open'",
}
/** Stores the usage so far with the open charge. */
export const checkpointCharge = (checkpoint: {
  readonly request: string
  /** Output tokens so far. */
  readonly output: number
  /** JSON: the other meters. */
  readonly usage: string
  /** JSON; null: the price depends on none. */
  readonly attributes: string | null
  /** JSON: what serves it; absent: not known yet. */
  readonly served?: string | null | undefined
}): Statement => ({
  sql: UPDATE_CHECKPOINT,
  values: [
    checkpoint.output,
    checkpoint.usage,
    checkpoint.attributes,
    checkpoint.served ?? null,
    checkpoint.request,
  ],
})

const NAME_SERVED: Sql = {
  name: 'ledger: name what serves',
  text: "UPDATE charges SET served = ? WHERE request = ? AND state = 'open'",
}
/** `served`: JSON; null: nothing is known. */
export const nameServed = (request: string, served: string | null): Statement => ({
  sql: NAME_SERVED,
  values: [served, request],
})

/** The checkpoint of a usage. `isStreaming`: the output grows with the progress of the exchange,
 *  and a crash before its first byte charges nothing. Otherwise the client has received all of
 *  it. */
export const checkpointOf = (
  request: string,
  { meters: { output = 0, ...others }, parts }: Usage,
  { rule, facts }: { readonly rule: Rule; readonly facts: Facts },
  isStreaming: boolean,
  served?: string | null,
): Statement => ({
  ...checkpointCharge({
    request,
    output,
    usage: JSON.stringify(others),
    attributes: parts ? textOf(parts, facts) : attributesOf(rule, facts),
    served,
  }),
  ...(isStreaming && { progress: 0 }),
})

/** In the column `attributes`: the parts of a session. No attribute of a price has this name, which
 *  begins with a letter. */
const PARTS = '*parts'
const textOf = (parts: readonly UsagePart[], { attributes: ofRequest }: Facts): string =>
  JSON.stringify({
    [PARTS]: parts.map(({ meters, attributes }) => ({
      meters,
      attributes: { ...ofRequest, ...attributes },
    })),
  })

/** The request attributes that the price depends on, as JSON; null: none. The store gets no
 *  others. */
export const attributesOf = (rule: Rule, { attributes = {} }: Facts): string | null => {
  const attributeNames = new Set(
    [...rule.lines, { by: [], when: rule.discount?.when ?? [] }].flatMap(({ by, when }) => [
      ...by,
      ...when.flatMap(each => ('name' in each ? [each.name] : [])),
    ]),
  )
  const entries = Object.entries(attributes).filter(([name]) => attributeNames.has(name))
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries))
}

/** Charges the open calls that have a checkpoint and no live process, or those of one process. */
export const settleCheckpoints = async (
  database: Pick<Database, 'read' | 'write'>,
  log: Log,
  now: number,
  process?: string,
): Promise<void> => {
  let rows: readonly Row[]
  do {
    rows =
      process === undefined
        ? await database.read(CHECKPOINTS, [])
        : await database.read(CHECKPOINTS_OF, [process])
    for (const row of rows) await settleOne(database, log, row, now)
  } while (rows.length === BATCH)
}
const settleOne = async (
  database: Pick<Database, 'write'>,
  log: Log,
  row: Row,
  now: number,
): Promise<void> => {
  try {
    await writeWithRetry(database, [markReaped(String(row.request)), settlementOf(row, now)])
    log.info(
      { request: row.request },
      'a stream of a crashed process was charged at its last checkpoint',
    )
  } catch (error) {
    // Its own process or another one closed it first.
    if (!isCode(error, 'CHARGE_CLOSED')) throw error
  }
}

const settlementOf = (row: Row, now: number) => {
  const meters: Meters = { ...parseObject(row.usage), output: Number(row.noted) }
  const rule = thaw(String(row.rule))
  const { nanos, lines } = priceOf(row, meters, rule)
  const heldAmount = nanosOf(row.held)
  const amount = nanos < heldAmount ? nanos : heldAmount
  const key = row.key === null ? undefined : Number(row.key)
  const used = tokensUsed(meters)
  return settleCharge({
    request: String(row.request),
    amount,
    uncollected: nanos - amount,
    isEstimated: true,
    usage: JSON.stringify(meters),
    lines: JSON.stringify(lines),
    closedAt: now,
    wallets: walletsOf(Number(row.account), key, windowsOf(row)),
    tokens: row.tokens_held == null ? undefined : { used },
    planned: plannedIn(row, { heldAmount, amount, used }),
  })
}
const plannedIn = (
  { plan_held: amount, plan_tokens: tokens }: Row,
  charge: Parameters<typeof settledPart>[1],
) =>
  tokens == null
    ? undefined
    : settledPart({ amount: nanosOf(amount), tokens: nanosOf(tokens) }, charge)
const priceOf = ({ attributes: text, opened }: Row, meters: Meters, rule: Rule) => {
  const { [PARTS]: parts, ...attributes } = parseObject(text) as StoredAttributes
  const facts = { at: Number(opened), attributes }
  return parts ? priceParts(parts, rule, facts) : price(toExactUsage({ meters }), rule, facts)
}
type StoredAttributes = Readonly<Record<string, Attribute>> & {
  readonly [PARTS]?: readonly UsagePart[]
}
const parseObject = (text: unknown): object => (typeof text === 'string' ? JSON.parse(text) : {})
