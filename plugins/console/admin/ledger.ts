/** Endpoints of operators for the ledger: audit, and charges of all accounts. */
import type { HostBase, Sql } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { findAccount } from '../../credentials/find.ts'
import { FIND_BY_ID, withAccountNames } from '../../credentials/statements.ts'
import { audit } from '../../ledger/audit.ts'
import { nanosOf } from '../../ledger/statements.ts'
import { ALL_CALLS, CALLS_OF } from '../../ledger/views/usage.ts'
import { MOST_EXAMINED, SEARCH_END } from '../../ledger/views/usage-lists.ts'
import { queryFault } from '../../operator/faults.ts'
import { isoTime, rowReader } from '../../operator/rows.ts'
import {
  AUDIT,
  type AuditReport,
  CHARGE_COLUMNS,
  CHARGE_ROW,
  CHARGE_STATES,
} from '../../rows/calls.ts'
import { list as listOf } from '../../shapes.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  choiceIn,
  numberIn,
  textIn,
} from './endpoint.ts'

const PAGE = 100

const runAudit = async (_: AdminCall, { database }: HostBase): Promise<AdminResult> => {
  const findings = await audit(database)
  const now = isoTime(await database.now())
  const report: AuditReport = {
    balanced: findings.length === 0,
    time: now,
    findings: findings.map(each => ({ ...each })),
  }
  return { data: report }
}

const chargeOf = rowReader(CHARGE_COLUMNS, ({ opened, amount }) => ({
  at: isoTime(opened),
  cost: printMoney(nanosOf(amount)),
}))

const withNames = (calls: Sql): Sql => ({
  name: `console: ${calls.name}`,
  text: `${withAccountNames(calls.text, 'account')} ORDER BY r.opened DESC, r.request DESC`,
})
type Calls = typeof ALL_CALLS
const namedCalls = ({ all, open, uncollected }: Calls): Calls => ({
  all: withNames(all),
  open: withNames(open),
  uncollected: withNames(uncollected),
})
const CHARGES = namedCalls(ALL_CALLS)
const CHARGES_OF = namedCalls(CALLS_OF)

const charges = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const model = textIn(query, 'model') ?? null
  const state = choiceIn(query, 'state', CHARGE_STATES, null)
  const key = numberIn(query, 'key')
  const account = await accountIn(query, key, host)
  const [opened, request] = markIn(query)
  const kind =
    query.get('uncollected') === 'yes' ? 'uncollected' : state === 'open' ? 'open' : 'all'
  const count = (model ?? key ?? state) === null ? PAGE + 1 : MOST_EXAMINED
  const end = kind === 'all' ? await searchEnd(host, { account, latest: opened, count }) : 0
  const filters = [account, account, model, model, key, key, state, state]
  const values = [opened, end, opened, request, ...filters, PAGE + 1]
  const rows =
    account === null
      ? await host.database.read(CHARGES[kind], values)
      : await host.database.read(CHARGES_OF[kind], [account, ...values])
  const page = rows.slice(0, PAGE)
  const last = page.at(-1)
  const rest = end > 0 ? `${end}:` : null
  const next = rows.length > PAGE && last ? `${last.opened}:${last.request}` : rest
  return { data: page.map(chargeOf), next }
}
interface Search {
  readonly account: number | null
  /** Begin of a call, ms since 1970. */
  readonly latest: number
  /** How many calls the page looks at. */
  readonly count: number
}
/** The begin of the earliest calls that this page looks at; 0: it looks at all that are left. */
const searchEnd = async (
  { database }: HostBase,
  { account, latest, count }: Search,
): Promise<number> => {
  const [row] =
    account === null
      ? await database.read(SEARCH_END.all, [latest, count])
      : await database.read(SEARCH_END.one, [account, latest, count])
  return Number(row?.opened ?? 0)
}
/** The account that the query names, or that of its key: an index finds the charges of an
 *  account. */
const accountIn = async (
  query: URLSearchParams,
  key: number | null,
  host: HostBase,
): Promise<number | null> => {
  const name = textIn(query, 'account')
  if (name !== undefined) return (await findAccount(host.database, name)).id
  if (key === null) return null
  const [row] = await host.database.read(FIND_BY_ID.key, [key])
  return row ? Number(row.account) : null
}
const LATEST = Number.MAX_SAFE_INTEGER
/** The last row of the page before. */
const markIn = (query: URLSearchParams): readonly [opened: number, request: string] => {
  const cursor = textIn(query, 'cursor')
  if (cursor === undefined) return [LATEST, '']
  const [, opened, request] = /^(\d{1,15}):([\x20-\x7e]{0,140})$/.exec(cursor) ?? []
  if (opened === undefined || request === undefined)
    throw queryFault('cursor', '`next` of the page before')
  return [Number(opened), request]
}

export const ledgerEndpoints: AdminEndpoints = {
  'GET ledger/audit': {
    summary: 'Checks every invariant of the ledger; an empty list of findings: it balances.',
    data: AUDIT,
    run: runAudit,
  },
  'GET charges': {
    summary:
      'Lists the charges of all accounts, latest first, at most a hundred a page; with filters a page may have fewer, and `next` continues the search.',
    query: {
      account: 'name or number of an account',
      key: 'number of an API key',
      model: 'a model',
      state: CHARGE_STATES.join(', '),
      uncollected: 'yes: only those that a balance did not cover',
      cursor: '`next` of the page before',
    },
    data: listOf(CHARGE_ROW),
    run: charges,
  },
}
