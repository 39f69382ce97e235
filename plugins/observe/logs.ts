/** `tollgate logs`: the last requests of this machine, and with `-f` new ones as they end; with
 *  `--failed` the failed calls of all machines. */
import { existsSync } from 'node:fs'
import { countOf, EXIT, printable, sinceOf, textOf, UsageError } from '../../engine/cli/kit.ts'
import type {
  CommandArguments,
  Database,
  RequestFilter,
  RequestLog,
  RequestRecord,
  SingleCommand,
} from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { findAccount } from '../credentials/find.ts'
import { findMember } from '../credentials/members.ts'
import { failedCalls } from '../operator/failed-calls.ts'
import type { FailedCallView } from '../views.ts'

const DEFAULT_LINES = 20
const MAX_LINES = 100_000

export const logsCommand: SingleCommand = {
  standalone: true,
  summary: 'Shows the last requests: who, which model, what they used and cost.',
  example: 'tollgate logs --account ann --status 5xx --since 2h',
  options: {
    account: { type: 'string', value: 'NAME', summary: 'of this account, by name or number' },
    member: {
      type: 'string',
      value: 'NAME',
      summary: 'of this member of the account, by name or number; needs --account',
    },
    key: { type: 'string', value: 'ID', summary: 'of this API key, by number' },
    model: { type: 'string', value: 'NAME', summary: 'for this model, as the client named it' },
    route: { type: 'string', value: 'NAME', summary: 'on this route' },
    status: { type: 'string', value: 'STATUS', summary: 'with this status: 429, or 5xx' },
    failed: {
      type: 'boolean',
      summary: 'failed calls of all machines, with what clients were told',
    },
    all: { type: 'boolean', summary: "also the console's own requests" },
    since: { type: 'string', value: 'TIME', summary: 'since 2h, 7d, or a date' },
    lines: { type: 'string', short: 'n', value: 'COUNT', summary: 'how many; 20 by default' },
    cursor: { type: 'string', value: 'CURSOR', summary: 'continues where a page ended' },
    follow: { type: 'boolean', short: 'f', summary: 'also prints new requests, until Ctrl-C' },
  },
  async run({ values }, { requests: log, section, database }) {
    const filter = filterOf(values)
    const count = countOf(textOf(values.lines), 'lines', MAX_LINES) ?? DEFAULT_LINES
    const { name: currency } = configuredCurrency({ section })
    if (values.failed === true) return printFailed(database, values, count, currency)
    if (section<{ request_log?: unknown }>('settings').request_log === 'off')
      complain('settings.request_log is off: no new requests are added')
    else if (!existsSync(log.folder))
      complain(
        `there is no request log in ${log.folder} yet; settings.data (TOLLGATE_DATA) names its folder`,
      )
    const print = values.json === true ? printJson : createTable(currency)
    if (values.follow) return follow(log, filter, count, print)
    const page = await log.page(filter, count, cursorOf(values))
    if (values.json === true) {
      say(JSON.stringify({ requests: page.rows, next: page.next }, null, 2))
      return EXIT.ok
    }
    if (page.rows.length === 0) say('none')
    print(page.rows.toReversed())
    if (page.next !== null) complain(`older ones: add --cursor ${page.next}`)
    return EXIT.ok
  },
}

const filterOf = (values: CommandArguments['values']): RequestFilter => {
  const account = textOf(values.account)
  const status = textOf(values.status)
  const since = sinceOf(textOf(values.since))
  if (status !== undefined && !/^[1-5](\d\d|xx)$/.test(status))
    throw new UsageError('--status must be a status such as 429, or a class such as 5xx')
  const key = textOf(values.key)
  if (key !== undefined && !/^\d{1,15}$/.test(key))
    throw new UsageError('--key must be the number of a key; see tollgate keys list')
  const member = memberIn(values)
  const texts = {
    // Names of accounts and members are never numbers alone.
    [isNumber(account) ? 'account' : 'account_name']: account,
    [isNumber(member) ? 'member' : 'member_name']: member,
    key,
    model: textOf(values.model),
    route: textOf(values.route),
  }
  const fields = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, [text]] as const],
  )
  return {
    fields: Object.fromEntries(fields),
    ...(values.all !== true && { except: { console: ['true'] } }),
    ...(status !== undefined && { status }),
    ...(since !== undefined && { since }),
  }
}
const isNumber = (text = ''): boolean => /^\d+$/.test(text)
/** Two accounts may have members of the same name. */
const memberIn = (values: CommandArguments['values']): string | undefined => {
  const member = textOf(values.member)
  if (member !== undefined && values.account === undefined)
    throw new UsageError('--member needs --account')
  return member
}
/** Prints the failed calls that the database has, the latest last. */
const printFailed = async (
  database: Pick<Database, 'read'>,
  values: CommandArguments['values'],
  count: number,
  currency: string,
): Promise<number> => {
  for (const name of ['route', 'status', 'follow', 'cursor', 'all'])
    if (values[name] !== undefined) throw new UsageError(`--${name} cannot be used with --failed`)
  const name = textOf(values.account)
  const key = textOf(values.key)
  const account = name === undefined ? null : (await findAccount(database, name)).id
  const named = memberIn(values)
  const member =
    account === null || named === undefined
      ? null
      : Number((await findMember(database, account, named)).id)
  const { rows, next } = await failedCalls(database, {
    from: sinceOf(textOf(values.since)) ?? 0,
    to: Number.MAX_SAFE_INTEGER,
    account,
    member,
    key: key === undefined ? null : Number(key),
    model: textOf(values.model) ?? null,
    code: null,
    limit: count,
  })
  if (values.json === true) say(JSON.stringify({ failed: rows }, null, 2))
  else if (rows.length === 0) say('none')
  else createTable(currency)(rows.map(recordOf).toReversed())
  if (next !== null && values.json !== true)
    complain(`there are older ones: add --lines ${count * 10}`)
  return EXIT.ok
}
const recordOf = (call: FailedCallView): RequestRecord => {
  const { upstream, target } = call.attempts.at(-1) ?? {}
  return {
    time: Date.parse(call.at),
    id: call.request,
    status: call.status,
    ms: call.ms,
    account_name: call.account_name,
    key: call.key,
    model: call.model || call.route,
    ...(upstream !== undefined && { upstream }),
    ...(target != null && { target }),
    cost: call.cost,
    code: call.message === '' ? call.code : `${call.code}: ${call.message}`,
  }
}
const cursorOf = (values: CommandArguments['values']): string | undefined => {
  const cursor = textOf(values.cursor)
  if (cursor === undefined || /^\d{1,15}-\d{1,9}$/.test(cursor)) return cursor
  throw new UsageError('--cursor must be the cursor that the previous page printed')
}
type Print = (records: readonly RequestRecord[]) => void

/** Prints the last records, then new ones. Ctrl-C ends it. */
const follow = async (log: RequestLog, filter: RequestFilter, count: number, print: Print) => {
  const stop = new AbortController()
  const end = (): void => stop.abort()
  process.on('SIGINT', end).on('SIGTERM', end)
  try {
    const news = log.follow(filter, stop.signal)
    // It notes the ends of all files now, so that no request is missed between both.
    const first = news.next()
    const { rows } = await log.page(filter, count)
    print(rows.toReversed())
    const ids = new Set(rows.map(({ id }) => id))
    for (let next = await first; !next.done; next = await news.next())
      print(next.value.filter(({ id }) => !ids.has(id)))
    return EXIT.ok
  } finally {
    // Ctrl-C comes from the terminal, and a moment later once more from a launcher such as
    // engine/bin.cjs: the handlers then stay, so that the command ends with its own exit code.
    if (!stop.signal.aborted) process.off('SIGINT', end).off('SIGTERM', end)
  }
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const complain = (text: string): void => void process.stderr.write(`${text}\n`)

const printJson: Print = records => {
  for (const record of records) say(JSON.stringify(record))
}
const createTable = (currency: string): Print => {
  let hasHeader = false
  return records => {
    if (records.length > 0 && !hasHeader) {
      say(lineOf(COLUMNS.map(({ title }) => (title === COST ? `${COST} (${currency})` : title))))
      hasHeader = true
    }
    for (const record of records) say(lineOf(COLUMNS.map(({ value }) => printable(value(record)))))
  }
}
interface Column {
  readonly title: string
  readonly width: number
  value(record: RequestRecord): string
}
const textIn = (record: RequestRecord, ...names: readonly string[]): string => {
  const value = names.map(name => record[name]).find(each => each !== undefined)
  return value === undefined || value === null ? '-' : String(value)
}
const COST = 'cost'
const COLUMNS: readonly Column[] = [
  { title: 'time', width: 24, value: ({ time }) => new Date(time).toISOString() },
  { title: 'status', width: 6, value: record => textIn(record, 'status') },
  { title: 'ms', width: 8, value: ({ ms }) => String(Math.round(Number(ms))) },
  { title: 'account', width: 12, value: record => textIn(record, 'account_name', 'account') },
  { title: 'key', width: 4, value: record => textIn(record, 'key') },
  { title: 'model', width: 20, value: record => textIn(record, 'model', 'route') },
  {
    title: 'upstream',
    width: 24,
    value: ({ upstream, target }) =>
      upstream === undefined ? '-' : `${upstream}${target === undefined ? '' : `/${target}`}`,
  },
  { title: 'in', width: 7, value: record => textIn(record, 'input_tokens') },
  { title: 'out', width: 6, value: record => textIn(record, 'output_tokens') },
  { title: COST, width: 10, value: record => textIn(record, 'cost') },
  { title: 'request', width: 36, value: record => textIn(record, 'id') },
  { title: '', width: 0, value: ({ code }) => (code === undefined ? '' : String(code)) },
]
const lineOf = (cells: readonly string[]): string =>
  cells
    .map((cell, index) => cell.padEnd(COLUMNS[index]?.width ?? 0))
    .join('  ')
    .trimEnd()
