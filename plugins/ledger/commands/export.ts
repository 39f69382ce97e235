/** `tollgate export ledger`: prints every credit and every closed charge as CSV or JSON lines. */
import { EXIT, instantIn, textOf, UsageError } from '../../../engine/cli/kit.ts'
import type {
  Command,
  CommandArguments,
  Database,
  Row,
  SingleCommand,
  Sql,
  Value,
} from '../../../engine/plugin.ts'
import { configuredCurrency } from '../../billing/currency.ts'
import { printMoney } from '../../billing/money.ts'
import { madeIn, memberOfCall } from '../../calls/call-member.ts'
import { memberIn } from '../../calls/statements.ts'
import { findAccount } from '../../credentials/find.ts'
import { memberName, presentName } from '../../credentials/members.ts'
import { withAccountNames, withKeyNames } from '../../credentials/statements.ts'
import { plannedInSql } from '../plans/part.ts'
import { nanosOf } from '../statements.ts'
import { csvCell } from '../views/csv.ts'
import { SERVED_COLUMNS, servedView } from '../views/served-by.ts'

const PAGE = 1_000
/** In a period: of `at` for credits, of the begin of the call for charges, as in statements. */
interface Range {
  /** The number of one account; undefined: all of them. */
  readonly account: number | undefined
  /** ms since 1970; `to` is exclusive. */
  readonly from: number
  readonly to: number
}
const MEMBER = memberOfCall(madeIn('charges'))
const CHARGE_COLUMNS = `request, closed, account, key, ${MEMBER} AS member, ${memberName(MEMBER)} AS member_name, state, amount, ${plannedInSql('charges')} AS planned, uncollected, estimated, route, model, usage,
    lines, task, attributes, served, opened`
const sql = (name: string, text: string): Sql => ({ name: `export: ${name}`, text })
/** Parameters: the account if there is one, `from`, `to`, the id to start after, row count. */
const creditsOf = (account: string): string =>
  `${withAccountNames(
    `SELECT id, at, account, kind, amount, planned, request, note FROM credits
     WHERE ${account} at >= ? AND at < ? AND id > ? ORDER BY id LIMIT ?`,
    'account',
  )} ORDER BY r.id`
/** Parameters: the account if there is one, the begin to start from, `to`, that begin again, the
 *  request to start after, row count. */
const chargesOf = (account: string): string => {
  const charges = `SELECT ${CHARGE_COLUMNS}, key AS name FROM charges
     WHERE ${account} opened >= ? AND opened < ? AND state <> 'open' AND (opened > ? OR request > ?)
     ORDER BY opened, request LIMIT ?`
  const withKeys = withKeyNames(charges, 's.opened, s.request')
  return `${withAccountNames(withKeys, 'account')} ORDER BY r.opened, r.request`
}
const OF_ACCOUNT = 'account = ? AND'
const CREDITS = {
  all: sql('credits', creditsOf('')),
  one: sql('credits of an account', creditsOf(OF_ACCOUNT)),
}
export const CHARGES = {
  all: sql('charges', chargesOf('')),
  one: sql('charges of an account', chargesOf(OF_ACCOUNT)),
}
const countText = (account: string): string =>
  `SELECT (SELECT count(*) FROM credits WHERE ${account} at >= ? AND at < ?)
    + (SELECT count(*) FROM charges WHERE ${account} opened >= ? AND opened < ? AND state <> 'open') AS entries`
const COUNT = {
  all: sql('count', countText('')),
  one: sql('count of an account', countText(OF_ACCOUNT)),
}

/** The columns of an entry. Amounts are in units of the currency, negative where the account
 *  paid. `planned`: the part of `amount` that its plan paid, or got back: the balance changes by
 *  the rest. */
const COLUMNS = [
  'at',
  'account',
  'kind',
  'request',
  'amount',
  'planned',
  'key',
  'member',
  'model',
  'route',
  'estimated',
  'uncollected',
  'usage',
  'lines',
  'note',
  'task',
  'settings',
  ...SERVED_COLUMNS,
  'account_name',
  'key_name',
  'member_name',
  'currency',
] as const
type Reader = Pick<Database, 'read'>
type Entry = { readonly [column in (typeof COLUMNS)[number]]?: unknown }

const creditOf = ({
  at,
  account,
  kind,
  amount,
  planned,
  request,
  note,
  account_name: name,
}: Row): Entry => ({
  at: timeOf(at),
  account,
  kind,
  request,
  note,
  amount: printMoney(nanosOf(amount)),
  planned: printMoney(nanosOf(planned)),
  account_name: name,
})
const chargeOf = (row: Row): Entry => ({
  at: timeOf(row.closed),
  account: row.account,
  request: row.request,
  key: row.key,
  member: memberIn(row),
  kind: row.state === 'settled' ? 'charge' : 'released',
  amount: printMoney(-nanosOf(row.amount)),
  planned: printMoney(-nanosOf(row.planned)),
  model: row.model,
  route: row.route,
  estimated: Number(row.estimated) === 1,
  uncollected: printMoney(nanosOf(row.uncollected)),
  usage: jsonOf(row.usage),
  lines: jsonOf(row.lines),
  task: row.task,
  // A charge without a task may keep those that its price depends on.
  settings: row.task === null ? null : jsonOf(row.attributes),
  ...servedView(row),
  account_name: row.account_name,
  key_name: row.key_name,
  member_name: row.member_name == null ? null : presentName(String(row.member_name)),
})
const timeOf = (at: Value | undefined): string => new Date(Number(at)).toISOString()
const jsonOf = (text: Value | undefined): unknown =>
  typeof text === 'string' ? JSON.parse(text) : null

/** Yields credits in the order of their ids, then charges as their calls began. */
async function* entries(database: Reader, { account, from, to }: Range): AsyncGenerator<Entry> {
  const [which, of] = account === undefined ? ['all' as const, []] : ['one' as const, [account]]
  let id: Value = 0
  for (;;) {
    const rows = await database.read(CREDITS[which], [...of, from, to, id, PAGE])
    yield* rows.map(creditOf)
    const last = rows.at(-1)
    if (rows.length < PAGE || !last) break
    id = last.id ?? 0
  }
  let [opened, request]: Value[] = [from, '']
  for (;;) {
    const position = [opened ?? 0, to, opened ?? 0, request ?? '']
    const rows = await database.read(CHARGES[which], [...of, ...position, PAGE])
    yield* rows.map(chargeOf)
    const last = rows.at(-1)
    if (rows.length < PAGE || !last) return
    opened = last.opened ?? 0
    request = last.request ?? ''
  }
}

const EVER = Number.MAX_SAFE_INTEGER
const rangeIn = async (values: CommandArguments['values'], database: Reader): Promise<Range> => {
  const name = textOf(values.account)
  const account = name && (await findAccount(database, name, { isDeletedToo: true })).id
  const range = {
    account: account || undefined,
    from: instantOf(values.from, 'from') ?? 0,
    to: instantOf(values.to, 'to') ?? EVER,
  }
  if (range.from >= range.to) throw new UsageError('--from must be before --to')
  return range
}
const instantOf = (value: unknown, option: string): number | undefined => {
  const text = textOf(value)
  const at = text === undefined ? undefined : instantIn(text)
  if (at === undefined || !Number.isNaN(at)) return at
  throw new UsageError(`--${option} must be a date or time such as 2026-11-01`)
}

const csvLine = (entry: Entry): string => COLUMNS.map(column => csvCell(entry[column])).join(',')

const exportLedger: SingleCommand = {
  summary: 'Prints every credit and every closed charge.',
  example: 'tollgate export ledger --account ann --from 2026-11-01 --to 2026-12-01 > ledger.csv',
  options: {
    csv: { type: 'boolean', summary: 'CSV for spreadsheets (default)' },
    jsonl: { type: 'boolean', summary: 'one JSON object a line' },
    account: { type: 'string', value: 'NAME', summary: 'only this account' },
    from: { type: 'string', value: 'TIME', summary: 'begin of the calls, a date or a time' },
    to: { type: 'string', value: 'TIME', summary: 'their end (exclusive)' },
  },
  async run({ values, report }, host) {
    const { database } = host
    if (values.csv === true && values.jsonl === true)
      throw new UsageError('use either --csv or --jsonl, not both')
    const lines = values.jsonl === true || values.json === true
    const range = await rangeIn(values, database)
    const { account, from, to } = range
    const currency = configuredCurrency(host).name
    if (!lines) process.stdout.write(`${COLUMNS.join(',')}\n`)
    const bounds = [from, to, from, to]
    const [counted] =
      account === undefined
        ? await database.read(COUNT.all, bounds)
        : await database.read(COUNT.one, [account, from, to, account, from, to])
    let done = 0
    for await (const each of entries(database, range)) {
      const entry = { ...each, currency }
      process.stdout.write(`${lines ? JSON.stringify(entry) : csvLine(entry)}\n`)
      report?.('exported', ++done, Number(counted?.entries), 'entries')
    }
    return EXIT.ok
  },
}
/** `others`: exports of parts that the ledger does not know. */
export const exportCommand = (others: Readonly<Record<string, SingleCommand>>): Command => ({
  summary: 'Exports the ledger, and accounts as a file.',
  subcommands: { ledger: exportLedger, ...others },
})
