/** Endpoints of operators for accounts: list, create, suspend, resume, limits, sign-in links. */
import { isFields } from '../../../engine/kit.ts'
import type { HostBase, Json, Row, Sql } from '../../../engine/plugin.ts'
import { printMoney } from '../../billing/money.ts'
import { makeSignInLink } from '../../credentials/sign-in-link.ts'
import {
  accountNumbers,
  accountRows,
  createAccount,
  isDeletedName,
  limitAccount,
  NOT_DELETED,
  suspendAccount,
} from '../../credentials/statements.ts'
import { nanosOf } from '../../ledger/statements.ts'
import { JOIN_WALLETS, withBalances } from '../../ledger/views/wallets.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { described, integer, list as listOf, nullable, object, text, time } from '../../shapes.ts'
import type { AccountRow } from '../../views.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  bodyOf,
  choiceIn,
  LIMITS,
  textIn,
} from './endpoint.ts'

const sql = (name: string, text: string): Sql => ({ name: `console: ${name}`, text })
const PAGE = 100
const SORTS = {
  number: 'a.id',
  balance: 'coalesce(w.balance, 0)',
  used: 'coalesce(w.used, 0)',
} as const
type Sort = keyof typeof SORTS
const ORDERS = ['asc', 'desc'] as const
type Order = (typeof ORDERS)[number]
/** A page of accounts in an order; only the rows of the page get their other columns. No index has
 *  balances, since every charge would change it. Parameters: a part of the name (twice), the state
 *  (three times, or empty), value and number of the last row of the page before. The row count is a
 *  constant: a plan of PostgreSQL for any count would read all accounts. */
const pageOf = (sort: Sort, order: Order): Sql => {
  const column = SORTS[sort]
  const orderText = `${column} ${order}, a.id ${order}`
  const rest = `${NOT_DELETED} AND (CAST(? AS TEXT) = '' OR lower(a.name) LIKE ?)
      AND (CAST(? AS TEXT) = '' OR (? = 'active' AND a.suspended IS NULL)
        OR (? = 'suspended' AND a.suspended IS NOT NULL))
      AND (${column}, a.id) ${order === 'asc' ? '>' : '<'} (CAST(? AS BIGINT), CAST(? AS BIGINT))
    ORDER BY ${orderText} LIMIT ${PAGE + 1}`
  return sql(
    `accounts by ${sort} ${order}`,
    withBalances(
      accountRows(`a.id IN (SELECT p.id FROM (${accountNumbers(JOIN_WALLETS, rest)}) p)`),
      orderText,
    ),
  )
}
const pagesIn = (order: Order): Readonly<Record<Sort, Sql>> => ({
  number: pageOf('number', order),
  balance: pageOf('balance', order),
  used: pageOf('used', order),
})
const PAGES: Readonly<Record<Order, Readonly<Record<Sort, Sql>>>> = {
  asc: pagesIn('asc'),
  desc: pagesIn('desc'),
}
const BY_NAME = sql('account', withBalances(accountRows('a.name = ? OR a.id = CAST(? AS BIGINT)')))
const STATES = ['active', 'suspended'] as const
const SORT_NAMES: readonly Sort[] = ['number', 'balance', 'used']

const viewOf = (row: Row): AccountRow => ({
  id: Number(row.id),
  name: String(row.name),
  role: String(row.role),
  state: row.suspended === null ? 'active' : 'suspended',
  keys: Number(row.keys),
  created: new Date(Number(row.created)).toISOString(),
  balance: printMoney(nanosOf(row.balance ?? 0)),
  used: printMoney(nanosOf(row.used ?? 0)),
  overdraft: printMoney(nanosOf(row.overdraft ?? 0)),
  limits: typeof row.limits === 'string' ? JSON.parse(row.limits) : null,
})

/** The account that a body or a query names, by name or number. */
export const findAccountView = async ({ database }: HostBase, nameOrId: Json | undefined) => {
  const text = String(nameOrId ?? '')
  const id = /^\d{1,15}$/.test(text) ? Number(text) : null
  const [row] = await database.read(BY_NAME, [text, id])
  if (!row || isDeletedName(String(row.name))) throw fault('ADMIN_ACCOUNT', [text.slice(0, 64)])
  return viewOf(row)
}

const list = async ({ query }: AdminCall, { database }: HostBase): Promise<AdminResult> => {
  const search = (query.get('search') ?? '').toLowerCase()
  const pattern = `%${search.replace(/[%_]/g, '')}%`
  const state = choiceIn(query, 'state', STATES, '')
  const sort = choiceIn(query, 'sort', SORT_NAMES, 'number')
  const order = choiceIn(query, 'order', ORDERS, 'asc')
  const filters = [search, pattern, state, state, state]
  const values = [...filters, ...endIn(query, order)]
  const rows = await database.read(PAGES[order][sort], values)
  const page = rows.slice(0, PAGE)
  const last = page.at(-1)
  const next = rows.length > PAGE && last ? `${sortValueOf(last, sort)}:${last.id}` : null
  return { data: page.map(viewOf), next }
}
const LARGEST = 2n ** 63n - 1n
/** Value and number of the last row of the page before. */
const endIn = (query: URLSearchParams, order: Order): readonly [value: bigint, id: bigint] => {
  const cursor = textIn(query, 'cursor')
  if (cursor === undefined) return order === 'asc' ? [-LARGEST, -LARGEST] : [LARGEST, LARGEST]
  const [, value, id] = /^(-?\d{1,18}|-?[1-8]\d{18}):(\d{1,15})$/.exec(cursor) ?? []
  if (value === undefined || id === undefined)
    throw fault('ADMIN_QUERY', ['cursor', '`next` of the page before'], { param: 'cursor' })
  return [BigInt(value), BigInt(id)]
}
const sortValueOf = (row: Row, sort: Sort): bigint =>
  sort === 'number' ? BigInt(Number(row.id)) : nanosOf(row[sort] ?? 0)

const create = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const name = String(body.name)
  // Such a name would be ambiguous with the number of an account.
  if (/^\d+$/.test(name)) throw fault('ADMIN_NUMBER')
  const role = body.role === 'admin' ? 'admin' : 'customer'
  const statements = createAccount({ name, role }, await host.database.now())
  await writeWithRetry(host.database, statements).catch(error => {
    throw error.code === 'ACCOUNT_EXISTS' ? fault('ADMIN_EXISTS', [name]) : error
  })
  const after = await findAccountView(host, name)
  return { data: after, change: { before: null, after } }
}

const suspension =
  (isSuspended: boolean) =>
  async ({ body, account }: AdminCall, host: HostBase): Promise<AdminResult> => {
    const before = await findAccountView(host, body.account)
    if (isSuspended && before.id === account) throw fault('ADMIN_SELF', [before.name])
    const at = isSuspended ? await host.database.now() : null
    await writeWithRetry(host.database, suspendAccount(Number(before.id), at))
    const after = await findAccountView(host, before.id)
    return { data: after, change: { before, after } }
  }

const limit = async ({ body }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const before = await findAccountView(host, body.account)
  const limits = isFields(body.limits) && Object.keys(body.limits).length > 0 ? body.limits : null
  await writeWithRetry(host.database, limitAccount(Number(before.id), limits))
  const after = await findAccountView(host, before.id)
  return { data: after, change: { before, after } }
}

const link = async ({ body, actor }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const account = await findAccountView(host, body.account)
  const now = await host.database.now()
  const { url, expires, statements } = makeSignInLink(host, {
    account: Number(account.id),
    issuer: actor,
    now,
  })
  await writeWithRetry(host.database, statements)
  const time = new Date(expires).toISOString()
  const after = { account: account.name ?? null, expires: time }
  return { data: { url, expires: time }, change: { before: null, after } }
}

/** Exact: a JSON number is a float. */
export const MONEY = described('Units of the currency.', text)
const LIMITS_VIEW = object({}, { requests: text, tokens: text, concurrency: integer })
export const ACCOUNT = object({
  id: integer,
  name: text,
  role: text,
  state: text,
  keys: integer,
  created: time,
  balance: MONEY,
  used: MONEY,
  overdraft: MONEY,
  limits: nullable(LIMITS_VIEW),
})
export const ACCOUNT_NAME = { type: ['string', 'integer'], maxLength: 64 } as const
const ONLY_ACCOUNT = bodyOf({ account: ACCOUNT_NAME }, ['account'])

export const accountEndpoints: AdminEndpoints = {
  'GET accounts': {
    summary: 'Lists accounts with their balances, a hundred a page.',
    query: {
      search: 'a part of the name',
      state: STATES.join(', '),
      sort: `${SORT_NAMES.join(', ')}; number by default`,
      order: `${ORDERS.join(', ')}; asc by default`,
      cursor: '`next` of the page before',
    },
    data: listOf(ACCOUNT),
    run: list,
  },
  'GET account': {
    summary: 'Shows an account.',
    query: { account: 'its name or number' },
    data: ACCOUNT,
    run: async ({ query }, host) => ({
      data: await findAccountView(host, query.get('account') ?? ''),
    }),
  },
  'POST accounts': {
    summary: 'Creates an account.',
    body: bodyOf(
      {
        name: {
          type: 'string',
          maxLength: 64,
          pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N} ._@+-]{0,63}$',
          errorMessage: "Invalid 'name': expected 1 to 64 letters, digits, spaces and . _ @ + -.",
        },
        role: { enum: ['customer', 'admin'] },
      },
      ['name'],
    ),
    data: ACCOUNT,
    run: create,
  },
  'POST accounts/suspend': {
    summary: 'Refuses every call of an account until it is resumed; never the account that asks.',
    body: ONLY_ACCOUNT,
    data: ACCOUNT,
    run: suspension(true),
  },
  'POST accounts/resume': {
    summary: 'Resumes a suspended account.',
    body: ONLY_ACCOUNT,
    data: ACCOUNT,
    run: suspension(false),
  },
  'POST accounts/limits': {
    summary:
      'Sets the limits of an account over all its keys, in place of those of routes for accounts.',
    body: bodyOf({ account: ACCOUNT_NAME, limits: LIMITS }, ['account', 'limits']),
    data: ACCOUNT,
    run: limit,
  },
  'POST accounts/link': {
    summary: 'Makes a link that signs in to the console once, within 24 hours.',
    body: ONLY_ACCOUNT,
    data: object({ url: text, expires: time }),
    run: link,
  },
}
