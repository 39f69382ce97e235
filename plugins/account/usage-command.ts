/** The command `tollgate usage`: calls of an account, and with `--all` who and what costs most. */
import { countOf, sinceOf, textOf, UsageError } from '../../engine/cli/kit.ts'
import type {
  CommandArguments,
  Database,
  HostBase,
  Json,
  SingleCommand,
} from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { findAccount } from '../credentials/find.ts'
import { findMember } from '../credentials/members.ts'
import { withCurrency } from '../operator/printed-money.ts'
import { USAGE_GROUPS, usageOfAll } from '../operator/usage.ts'
import { type Period, periodOf } from './input.ts'
import { isoTime } from './response.ts'
import { byOf, usagePage } from './usage-pages.ts'

const PAGE = 1_000

const AMOUNTS = new Set(['cost', 'refunded', 'planned'])
const runUsage: SingleCommand['run'] = async (words, host) =>
  withCurrency(await usageIn(words, host), AMOUNTS, configuredCurrency(host).name)

const usageIn = async (
  { positionals, values }: CommandArguments,
  { database }: Pick<HostBase, 'database'>,
) => {
  const [nameOrId] = positionals
  const period = periodIn(values, await database.now())
  if (values.all === true) return runUsageOfAll(nameOrId, values, period, database)
  if (nameOrId === undefined)
    throw new UsageError('Usage: tollgate usage NAME, or tollgate usage --all')
  if (values.top !== undefined) throw new UsageError('--top needs --all')
  const by = byOf(textOf(values.by), 'day')
  const { from, to } = period
  const { id, name } = await findAccount(database, nameOrId, { isDeletedToo: true })
  const named = textOf(values.member)
  const member =
    named === undefined ? undefined : Number((await findMember(database, id, named)).id)
  const rows: { readonly [name: string]: Json }[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { account: id, member, by, from, to, limit: PAGE, ...(cursor && { cursor }) }
    const page = await usagePage(database, query)
    rows.push(...page.rows)
    cursor = page.next
  }
  return {
    rows: rows.map(asText),
    json: { account: name, from: isoTime(from), to: isoTime(to), rows },
  }
}
const DEFAULT_TOP = 20
const MAX_TOP = 1_000
const runUsageOfAll = async (
  nameOrId: string | undefined,
  values: CommandArguments['values'],
  { from, to }: Period,
  database: Pick<Database, 'read'>,
) => {
  if (nameOrId !== undefined) throw new UsageError('--all takes no NAME')
  if (values.member !== undefined) throw new UsageError('--member needs NAME')
  const top = countOf(textOf(values.top), 'top', MAX_TOP) ?? DEFAULT_TOP
  const group = textOf(values.by) ?? 'account'
  const by = USAGE_GROUPS.find(each => each === group)
  if (!by) throw new UsageError(`--by must be one of ${USAGE_GROUPS.join(', ')} with --all`)
  const rows = await usageOfAll(database, { by, from, to, top })
  return { rows, json: { from: isoTime(from), to: isoTime(to), by, rows } }
}
const periodIn = (values: CommandArguments['values'], now: number): Period => {
  const since = textOf(values.since)
  const from = textOf(values.from)
  if (since !== undefined && from !== undefined)
    throw new UsageError('--since and --from are the same; give one of them')
  const start = sinceOf(since, now)
  return periodOf({ from: start === undefined ? from : isoTime(start), to: textOf(values.to) }, now)
}
/** Prints exact numbers with all digits, and a line for what is not known. */
const asText = (row: { readonly [name: string]: Json }): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : value === null ? '-' : JSON.stringify(value),
    ]),
  )

export const usageCommand: SingleCommand & { readonly standalone: true } = {
  arguments: '[NAME]',
  standalone: true,
  summary: 'Shows the usage of an account, or with --all who and what costs most.',
  example: 'tollgate usage --all --by account --top 20 --since 7d',
  options: {
    from: {
      type: 'string',
      value: 'TIME',
      summary: 'start, a date or time; 30 days before the end by default',
    },
    to: { type: 'string', value: 'TIME', summary: 'end (exclusive); now by default' },
    since: { type: 'string', value: 'TIME', summary: 'start: 24h, 7d or a date, as --from' },
    by: {
      type: 'string',
      value: 'WORD',
      summary:
        'day (default), model, key, member, tag or call; with --all: account (default), model, key, day, tag',
    },
    member: {
      type: 'string',
      value: 'NAME',
      summary: 'only calls of this member of the account',
    },
    all: { type: 'boolean', summary: 'all accounts, the largest cost first' },
    top: { type: 'string', value: 'COUNT', summary: 'with --all: how many rows; 20 by default' },
  },
  run: runUsage,
}
