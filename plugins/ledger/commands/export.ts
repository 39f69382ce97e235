/** `tollgate export ledger`: prints every credit and every closed charge as CSV or JSON lines. */
import { EXIT, UsageError } from '../../../engine/cli/kit.ts'
import type { Command, Database, Row, SingleCommand, Sql, Value } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { nanosOf } from '../statements.ts'
import { csvCell } from '../views/csv.ts'
import { SERVED_COLUMNS, servedView } from '../views/served-by.ts'

const PAGE = 1_000
const CREDITS: Sql = {
  name: 'export: credits',
  text: `SELECT id, at, account, kind, amount, request, note FROM credits
    WHERE id > ? ORDER BY id LIMIT ?`,
}
const CHARGES: Sql = {
  name: 'export: charges',
  text: `SELECT request, closed, account, key, state, amount, uncollected, estimated, route, model, usage, lines, task, attributes, served
    FROM charges WHERE state <> 'open' AND request > ? ORDER BY request LIMIT ?`,
}
const COUNT: Sql = {
  name: 'export: count',
  text: `SELECT (SELECT count(*) FROM credits)
    + (SELECT count(*) FROM charges WHERE state <> 'open') AS entries`,
}

/** The columns of an entry. Amounts are in units of the currency, negative where the account
 *  paid. */
const COLUMNS = [
  'at',
  'account',
  'kind',
  'request',
  'amount',
  'key',
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
] as const
type Entry = { readonly [column in (typeof COLUMNS)[number]]?: unknown }

const creditOf = ({ at, account, kind, amount, request, note }: Row): Entry => ({
  at: timeOf(at),
  account,
  kind,
  request,
  note,
  amount: printMoney(nanosOf(amount)),
})
const chargeOf = (row: Row): Entry => ({
  at: timeOf(row.closed),
  account: row.account,
  request: row.request,
  key: row.key,
  kind: row.state === 'settled' ? 'charge' : 'released',
  amount: printMoney(-nanosOf(row.amount)),
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
})
const timeOf = (at: Value | undefined): string => new Date(Number(at)).toISOString()
const jsonOf = (text: Value | undefined): unknown =>
  typeof text === 'string' ? JSON.parse(text) : null

/** Yields credits, then charges, each in the order of their ids. */
async function* entries(database: Pick<Database, 'pages'>): AsyncGenerator<Entry> {
  for await (const page of database.pages(CREDITS, [0], PAGE)) yield* page.map(creditOf)
  for await (const page of database.pages(CHARGES, [''], PAGE)) yield* page.map(chargeOf)
}

const csvLine = (entry: Entry): string => COLUMNS.map(column => csvCell(entry[column])).join(',')

const exportLedger: SingleCommand = {
  summary: 'Prints every credit and every closed charge.',
  example: 'tollgate export ledger --csv > ledger.csv',
  options: {
    csv: { type: 'boolean', summary: 'CSV for spreadsheets (default)' },
    jsonl: { type: 'boolean', summary: 'one JSON object a line' },
  },
  async run({ values, report }, { database }) {
    if (values.csv === true && values.jsonl === true)
      throw new UsageError('use either --csv or --jsonl, not both')
    const lines = values.jsonl === true || values.json === true
    if (!lines) process.stdout.write(`${COLUMNS.join(',')}\n`)
    const [counted] = await database.read(COUNT, [])
    let done = 0
    for await (const entry of entries(database)) {
      process.stdout.write(`${lines ? JSON.stringify(entry) : csvLine(entry)}\n`)
      report?.('exported', ++done, Number(counted?.entries), 'entries')
    }
    return EXIT.ok
  },
}
export const exportCommand: Command = {
  summary: 'Exports the ledger.',
  subcommands: { ledger: exportLedger },
}
