/** `/api/log/self` and `/api/log/token` in the shape of new-api: calls of the account, or of the
 *  API key that asks. */
import type { Database, Exchange, Host, Json } from '../../../engine/plugin.ts'
import { parseMoney, quotaOf } from '../../billing/money.ts'
import { COUNT_FAILED_CALLS } from '../../calls/statements.ts'
import { accountFor, onlyMember } from '../../credentials/members.ts'
import { COUNT_CALLS } from '../../ledger/views/usage-lists.ts'
import { ACCOUNT } from '../../slots.ts'
import type { FailedUsage, UsageCall } from '../../views.ts'
import { fault } from '../faults.ts'
import { singleParameter } from '../input.ts'
import { answerSuccess, type ViewFactory } from '../response.ts'
import { type CallFilters, usagePage } from '../usage-pages.ts'
import { pageIn } from './pages.ts'
import { ownKeys } from './tokens.ts'

/** The types of their logs: calls, and calls that failed. Others are of things that a gateway does
 *  not log for customers. */
const [ANY, CALLS, FAILED] = [0, 2, 5]
const COUNTS = { call: COUNT_CALLS, failed: COUNT_FAILED_CALLS } as const

interface Query {
  readonly account: number
  readonly member?: number | undefined
  readonly by: 'call' | 'failed'
  readonly from: number
  readonly to: number
  readonly filters: CallFilters
}
const DAY = 86_400_000
/** Seconds since 1970. Throws USAGE_FILTER. */
const instantIn = (query: URLSearchParams, name: string): number | undefined => {
  const text = singleParameter(query, name)
  if (text === undefined || text === '0') return undefined
  if (!/^\d{1,12}$/.test(text)) throw fault('USAGE_FILTER', [`\`${name}\` must be Unix seconds`])
  return Number(text) * 1_000
}
const totalOf = async (database: Pick<Database, 'read'>, query: Query): Promise<number> => {
  const { account, from, to, filters, member = null } = query
  const { model, key } = filters
  const values = [account, from, to, model, model, key, key, member, member]
  const [row] = await database.read(COUNTS[query.by], values)
  return Number(row?.number ?? 0)
}

type Call = UsageCall | FailedUsage
const logOf = (
  call: Call,
  at: number,
  { id, name }: { readonly id: number; readonly name: string },
  keys: ReadonlyMap<number, string>,
): { readonly [member: string]: Json } => {
  const charged = 'first_content_ms' in call ? call : undefined
  const [first, whole] = [charged?.first_content_ms ?? null, call.ms ?? 0]
  return {
    id: at,
    user_id: id,
    created_at: Math.floor(Date.parse(call.at) / 1_000),
    type: charged ? CALLS : FAILED,
    content: charged ? '' : (call as FailedUsage).message,
    username: name,
    token_name: (call.key !== null && keys.get(call.key)) || '',
    model_name: call.model,
    quota: Number(quotaOf(parseMoney(call.cost))),
    prompt_tokens: charged?.input_tokens ?? 0,
    completion_tokens: charged?.output_tokens ?? 0,
    use_time: Math.round(whole / 1_000),
    is_stream: first !== null && first !== whole,
    channel: 0,
    token_id: call.key ?? 0,
    group: 'default',
    ip: '',
    request_id: call.request_id,
    other: JSON.stringify({ cache_tokens: charged?.cached_tokens ?? 0, frt: first ?? 0 }),
  }
}
const logsOf = async (
  host: Host,
  exchange: Exchange,
  { page, size, ...query }: Query & { readonly page: number; readonly size: number },
  keys: ReadonlyMap<number, string>,
) => {
  const account = exchange.slots.need(ACCOUNT)
  const { rows } = await usagePage(host.database, { ...query, limit: page * size })
  return (rows as unknown as readonly Call[])
    .slice((page - 1) * size)
    .map((call, at) => logOf(call, (page - 1) * size + at + 1, account, keys))
}

/** Everything that has happened, and what is not known yet. */
const periodIn = (query: URLSearchParams) => ({
  from: instantIn(query, 'start_timestamp') ?? 0,
  to: instantIn(query, 'end_timestamp') ?? Date.now() + DAY,
})
export const ownLogs: ViewFactory<Host> = host => async exchange => {
  const { query } = exchange.request
  const { id, member } = accountFor(exchange, 'read')
  const { page, size } = pageIn(query)
  const type = Number(singleParameter(query, 'type') ?? ANY)
  const names = new Map((await ownKeys(host, exchange)).map(key => [key.id, key.name]))
  const tokenName = singleParameter(query, 'token_name')
  const key = tokenName && [...names].find(([, name]) => name === tokenName)?.[0]
  const isKnown = type === ANY || type === CALLS || type === FAILED
  const request: Query = {
    account: id,
    member: onlyMember(member),
    by: type === FAILED ? 'failed' : 'call',
    ...periodIn(query),
    filters: { model: singleParameter(query, 'model_name') ?? null, key: key || null, state: null },
  }
  const isEmpty = !isKnown || (tokenName !== undefined && !key) || request.from >= request.to
  const total = isEmpty ? 0 : await totalOf(host.database, request)
  const items = isEmpty ? [] : await logsOf(host, exchange, { ...request, page, size }, names)
  answerSuccess(exchange, { data: { page, page_size: size, total, items } })
}

const OF_KEY = { page: 1, size: 1_000 }
/** The last thousand calls of the key that asks. */
export const tokenLogs: ViewFactory<Host> = host => async exchange => {
  const { id, key, member } = exchange.slots.need(ACCOUNT)
  if (!key) throw fault('KEY_NOT_KNOWN')
  const query = {
    account: id,
    member: onlyMember(member),
    by: 'call' as const,
    ...periodIn(exchange.request.query),
    filters: { model: null, key: key.id, state: null },
    ...OF_KEY,
  }
  const logs = await logsOf(host, exchange, query, new Map([[key.id, key.name ?? '']]))
  answerSuccess(exchange, { data: logs })
}
