/** Endpoints of operators for requests: the log, one request's whole story, and requests as they
 *  end. */
import type { HostBase, Json, RequestFilter } from '../../../engine/plugin.ts'
import { FIND_BY_ID } from '../../credentials/statements.ts'
import { MONEY, TASK_VIEW } from '../../operator/columns.ts'
import { operatorParts } from '../../operator/contributions.ts'
import { requestDetails } from '../../operator/requests.ts'
import {
  any,
  boolean,
  integer,
  list as listOf,
  map,
  nullable,
  number,
  object,
  oneOf,
  open,
  text,
  time,
} from '../../shapes.ts'
import { fault } from '../faults.ts'
import { consoleSettings } from '../section.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  asJson,
  type EventEndpoints,
  textIn,
} from './endpoint.ts'
import { FAILED_CALL } from './failed-calls.ts'

const PAGE = 100
const FILTERS = {
  account: 'name or number of an account',
  key: 'number of an API key',
  model: 'a model as the client named it',
  status: 'a status such as 429, or a class such as 5xx',
  calls: 'yes: only requests of routes with a price',
}

const filterOf = (query: URLSearchParams, { gateway }: HostBase): RequestFilter => {
  const [account, key, model, status] = ['account', 'key', 'model', 'status'].map(name =>
    textIn(query, name),
  )
  if (status !== undefined && !/^[1-5](?:xx|\d\d)$/.test(status)) throw fault('ADMIN_STATUS')
  const isNumber = account !== undefined && /^\d{1,15}$/.test(account)
  return {
    fields: {
      ...(account !== undefined && { [isNumber ? 'account' : 'account_name']: [account] }),
      ...(key !== undefined && { key: [key] }),
      ...(model !== undefined && { model: [model] }),
      ...(query.get('calls') === 'yes' && {
        route: gateway.routes
          .filter(({ about: { price } }) => price !== undefined)
          .map(each => each.name),
      }),
    },
    ...(status !== undefined && { status }),
  }
}

const list = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const cursor = textIn(query, 'cursor')
  const { rows, next } = await host.requests.page(filterOf(query, host), PAGE, cursor)
  return { data: rows, next }
}

/** Null without `console.traces`, or without a line of the request. */
const traceUrl = (host: HostBase, trace: unknown): string | null => {
  const { traces } = consoleSettings(host)
  if (traces === undefined || typeof trace !== 'string') return null
  return traces.replaceAll('{trace}', encodeURIComponent(trace))
}

/** The id is in the query, since clients choose some ids. */
const story = async ({ query }: AdminCall, host: HostBase): Promise<AdminResult> => {
  const { record, charges, failed } = await requestDetails(host, query.get('id') ?? '')
  const task = charges.find(each => each.task !== null)?.task
  const { tasks } = operatorParts(host)
  const number = Number(record?.key ?? charges[0]?.key ?? failed?.key ?? 0)
  const [key] = number > 0 ? await host.database.read(FIND_BY_ID.key, [number]) : []
  return {
    data: {
      request: record ?? null,
      failed: failed ? asJson(failed) : null,
      key_name: key ? String(key.name) : null,
      trace_url: traceUrl(host, record?.trace),
      charges: JSON.parse(JSON.stringify(charges)) as Json,
      // A task whose results have expired is deleted.
      task: task && tasks ? await tasks.show(host, task).catch(() => null) : null,
    },
  }
}

/** A line of the request log. Plugins add fields of their own. */
const RECORD = open(
  object(
    { time: number, id: text, route: text, method: text, path: text, status: integer },
    {
      level: text,
      process: text,
      pid: integer,
      trace: text,
      requestId: text,
      end: oneOf('complete', 'cut', 'hangup', 'refused'),
      ms: number,
      added: number,
      bytes: integer,
      attempts: integer,
      upstream: text,
      target: text,
      code: text,
      account: integer,
      account_name: text,
      key: integer,
      model: text,
      cost: MONEY,
      first_byte: number,
      input_tokens: integer,
      cached_tokens: integer,
      output_tokens: integer,
      version: integer,
      msg: text,
    },
  ),
)
const LINE = object(
  { meter: text, quantity: text, price: text, per: text, nanos: text },
  { with: map(text), by: map(text), min: text, step: text, factor: text },
)
/** Amounts are decimals in units of the currency. */
const CHARGE = object({
  request: text,
  account: integer,
  account_name: nullable(text),
  key: nullable(integer),
  member: nullable(integer),
  route: text,
  model: text,
  version: integer,
  state: text,
  opened: time,
  closed: nullable(time),
  hold: text,
  cost: text,
  uncollected: text,
  planned: text,
  refunded: text,
  estimated: boolean,
  usage: nullable(map(number)),
  lines: listOf(LINE),
  formula: nullable(text),
  task: nullable(text),
  settings: any,
  upstream: nullable(text),
  target: nullable(text),
  upstream_key: nullable(text),
  served_model: nullable(text),
  response_id: nullable(text),
  cache: nullable(text),
  tier: nullable(text),
  speed: nullable(text),
  geography: nullable(text),
  zone: nullable(text),
  tags: nullable(text),
  rule: nullable(text),
  guard: nullable(text),
  first_content_ms: nullable(integer),
  ms: nullable(integer),
})

export const requestEndpoints: AdminEndpoints = {
  'GET requests': {
    summary: 'Lists the requests of this machine, latest first, a hundred a page.',
    query: { ...FILTERS, cursor: '`next` of the page before' },
    data: listOf(RECORD),
    run: list,
  },
  'GET requests/story': {
    summary: 'Shows one request: its log line, its charges and its task.',
    query: { id: 'of a request or a task, or the id that the client sent' },
    data: object({
      request: nullable(RECORD),
      failed: nullable(FAILED_CALL),
      key_name: nullable(text),
      trace_url: nullable(text),
      charges: listOf(CHARGE),
      task: nullable(TASK_VIEW),
    }),
    reveals: query => `request ${query.get('id') ?? ''}`,
    run: story,
  },
}

/** Records of one event: a burst shows the latest of it. */
const MOST = 200
export const requestEvents: EventEndpoints = {
  'GET requests/live': {
    summary: 'Sends the requests of this machine as they end, in lists (text/event-stream).',
    query: FILTERS,
    follow(query, host, signal) {
      const batches = host.requests.follow(filterOf(query, host), signal)
      return (async function* () {
        for await (const records of batches) {
          const rows = records.slice(-MOST)
          yield { rows, omitted: records.length - rows.length }
        }
      })()
    },
  },
}
