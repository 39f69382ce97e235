/** Endpoints of operators for requests: the log, one request's whole story, and requests as they
 *  end. */
import type { HostBase, Json, RequestFilter } from '../../../engine/plugin.ts'
import { FIND_BY_ID } from '../../credentials/statements.ts'
import { operatorParts } from '../../operator/contributions.ts'
import { requestDetails } from '../../operator/requests.ts'
import { REQUEST_LINE, REQUEST_STORY } from '../../rows/requests.ts'
import { list as listOf } from '../../shapes.ts'
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

export const requestEndpoints: AdminEndpoints = {
  'GET requests': {
    summary: 'Lists the requests of this machine, latest first, a hundred a page.',
    query: { ...FILTERS, cursor: '`next` of the page before' },
    data: listOf(REQUEST_LINE),
    run: list,
  },
  'GET requests/story': {
    summary: 'Shows one request: its log line, its charges and its task.',
    query: { id: 'of a request or a task, or the id that the client sent' },
    data: REQUEST_STORY,
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
