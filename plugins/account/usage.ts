/** The usage endpoints of an account: lists as JSON or CSV, their changes, and the overview. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { accountEvents } from '../account-events/account-events.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { printMoney } from '../billing/money.ts'
import { TOKEN_COLUMNS } from '../billing/tokens.ts'
import { accountFor, onlyMember } from '../credentials/members.ts'
import { nanosOf } from '../ledger/statements.ts'
import { csvHead, csvRows } from '../ledger/views/csv.ts'
import { CALL_STATES } from '../ledger/views/usage.ts'
import { usageCells } from '../operator/usage.ts'
import { fault } from './faults.ts'
import { limitOf, periodOf, singleParameter } from './input.ts'
import { answerSuccess, isoTime, PRIVATE, type ViewFactory } from './response.ts'
import {
  type By,
  byOf,
  type CallFilters,
  defaultSort,
  GROUPINGS,
  type Grouping,
  type Sort,
  SUM_COLUMNS,
  type UsageQuery,
  usagePage,
} from './usage-pages.ts'

export const usage: ViewFactory<Host> = host => async exchange => {
  const { query } = exchange.request
  const { id, member } = accountFor(exchange, 'read')
  refuseEmpty(query)
  const by = groupingIn(query)
  const range = { from: singleParameter(query, 'from'), to: singleParameter(query, 'to') }
  const period = periodOf(range, Date.now())
  const limit = limitOf(singleParameter(query, 'limit'))
  const cursor = singleParameter(query, 'cursor')
  const [filters, sort] = [filtersIn(query, by), sortIn(query, by)]
  const page = {
    account: id,
    member: onlyMember(member) ?? chosenMember(query),
    by,
    limit,
    cursor,
    filters,
    sort,
    ...period,
    isBounded: true,
  } as const
  const format = singleParameter(query, 'format') ?? 'json'
  if (format === 'csv') return answerCsv(exchange, host, page)
  if (format !== 'json') throw fault('USAGE_FORMAT')
  const { rows, next } = await usagePage(host.database, page)
  const bounds = { from: isoTime(period.from), to: isoTime(period.to) }
  answerSuccess(exchange, { data: [...rows], ...bounds, next })
}

/** Who sees the calls of a member only gets his own. Throws USAGE_FILTER. */
const chosenMember = (query: URLSearchParams): number | undefined => {
  const member = singleParameter(query, 'member')
  if (member === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(member)) return Number(member)
  throw fault('USAGE_FILTER', ['`member` must be the number of a member'])
}

/** Changes of the calls of the calling account, as they happen. */
export const usageEvents: ViewFactory<Host> = host => {
  const events = accountEvents(host, CALL_STATES, ({ id, state, amount }) => ({
    id: String(id),
    state: String(state),
    cost: printMoney(nanosOf(amount ?? 0)),
  }))
  return async exchange => {
    accountFor(exchange, 'team')
    await events(exchange)
  }
}

/** An empty filter would list every call. Throws USAGE_FILTER. */
const refuseEmpty = (query: URLSearchParams): void => {
  for (const [name, value] of query)
    if (value === '')
      throw fault('USAGE_FILTER', [`\`${name}\` is empty; give it a value, or leave it out`], {
        param: name,
      })
}

/** Throws USAGE_BY, USAGE_FILTER. */
const groupingIn = (query: URLSearchParams): By => {
  const by = byOf(singleParameter(query, 'by'), 'call')
  const status = singleParameter(query, 'status')
  if (status === undefined) return by
  if (status !== 'failed') throw fault('USAGE_FILTER', ['`status` must be failed'])
  if (by !== 'call') throw fault('USAGE_FILTER', ['`status` filters `by=call` only'])
  return 'failed'
}

/** Throws USAGE_SORT. */
const sortIn = (query: URLSearchParams, by: By): Sort => {
  const grouping: Grouping = GROUPINGS[by]
  const [sort, order] = ['sort', 'order'].map(name => singleParameter(query, name))
  const usual = defaultSort(grouping)
  if (sort !== undefined && !grouping.sorts.includes(sort))
    throw fault('USAGE_SORT', [grouping.sorts.join(', ')])
  if (order !== undefined && order !== 'asc' && order !== 'desc') throw fault('USAGE_ORDER')
  return { by: sort ?? usual.by, order: order ?? usual.order }
}

const CSV_PAGE = 1_000
/** All rows of the query as a table, read page by page while it is sent. */
const answerCsv = async (exchange: Exchange, host: Host, query: UsageQuery): Promise<void> => {
  const currency = configuredCurrency(host).name
  const first = await usagePage(host.database, { ...query, limit: CSV_PAGE })
  async function* lines(): AsyncGenerator<Uint8Array> {
    let page = first
    yield Buffer.from(`\ufeff${csvHead(CSV_COLUMNS[query.by], currency)}`)
    for (;;) {
      yield Buffer.from(csvRows(CSV_COLUMNS[query.by], page.rows))
      if (page.next === null) return
      page = await usagePage(host.database, { ...query, limit: CSV_PAGE, cursor: page.next })
    }
  }
  const day = isoTime(query.to - 1).slice(0, 10)
  exchange.answer(200, lines(), {
    ...PRIVATE,
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="usage-by-${query.by}-${day}.csv"`,
    'x-content-type-options': 'nosniff',
  })
}
const CSV_COLUMNS: Readonly<Record<By, readonly string[]>> = {
  call: [
    'at',
    'request_id',
    'model',
    'route',
    'key',
    'member',
    'state',
    'estimated',
    'cost',
    'refunded',
    'planned',
    'tier',
    'speed',
    'geography',
    'zone',
    'tags',
    'rule',
    'guard',
    'first_content_ms',
    'ms',
    ...TOKEN_COLUMNS,
  ],
  failed: [
    'at',
    'request_id',
    'model',
    'route',
    'key',
    'member',
    'status',
    'code',
    'message',
    'ms',
    'cost',
    'omitted',
  ],
  day: ['day', ...SUM_COLUMNS],
  model: ['model', ...SUM_COLUMNS],
  key: ['key', 'name', 'masked', ...SUM_COLUMNS],
  member: ['member', 'name', 'role', ...SUM_COLUMNS],
  tag: ['tag', ...SUM_COLUMNS],
}

const TAG = /^([a-z][a-z0-9_-]*)=([\w.-]+)$/
const FILTERS = ['model', 'key', 'state', 'code', 'tag', 'rule']
const STATES = ['open', 'settled', 'released']
/** Throws USAGE_FILTER. */
const filtersIn = (query: URLSearchParams, by: By): CallFilters => {
  const [model, key, state, code, tag, rule] = FILTERS.map(name => singleParameter(query, name))
  const isOfCalls = by === 'call' || by === 'failed'
  if (!isOfCalls && (model ?? key ?? state) !== undefined)
    throw fault('USAGE_FILTER', ['`model`, `key` and `state` filter `by=call` only'])
  if (by !== 'failed' && code !== undefined)
    throw fault('USAGE_FILTER', ['`code` filters `status=failed` only'])
  if (by === 'failed' && state !== undefined)
    throw fault('USAGE_FILTER', ['`state` is of charges: with `status=failed` filter by `code`'])
  if (by !== 'call' && by !== 'model' && tag !== undefined)
    throw fault('USAGE_FILTER', ['`tag` filters charges of `by=call`, and `by=model`, only'])
  if (by !== 'call' && rule !== undefined)
    throw fault('USAGE_FILTER', ['`rule` filters charges of `by=call` only'])
  const [, name, value] = TAG.exec(tag ?? '') ?? []
  if (tag !== undefined && name === undefined)
    throw fault('USAGE_FILTER', ['`tag` must be a name and a value such as project=alpha'])
  if (key !== undefined && !/^[1-9]\d{0,14}$/.test(key))
    throw fault('USAGE_FILTER', ['`key` must be the number of a key'])
  if (state !== undefined && !STATES.includes(state))
    throw fault('USAGE_FILTER', [`\`state\` must be one of ${STATES.join(', ')}`])
  return {
    model: model ?? null,
    key: key === undefined ? null : Number(key),
    state: state ?? code ?? null,
    rule,
    tag: name === undefined || value === undefined ? undefined : { name, value },
  }
}

/** Calls, cost and tokens by day and model. */
export const overview: ViewFactory<Host> =
  ({ database }) =>
  async exchange => {
    const { query } = exchange.request
    const { id, member } = accountFor(exchange, 'read')
    refuseEmpty(query)
    const range = { from: singleParameter(query, 'from'), to: singleParameter(query, 'to') }
    const period = periodOf(range, Date.now())
    const cells = await usageCells(database, id, { ...period, member: onlyMember(member) ?? null })
    const bounds = { from: isoTime(period.from), to: isoTime(period.to) }
    answerSuccess(exchange, { data: [...cells], ...bounds })
  }
