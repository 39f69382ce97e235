/** Sends a file of a task's result to the client: it is streamed from where the upstream put it. */
import { errors, textOf } from '../../../engine/errors.ts'
import { isCode } from '../../../engine/kit.ts'
import type { Exchange, Headers, Host, Reply } from '../../../engine/plugin.ts'
import { discardBody } from '../../conversion/upstream-error.ts'
import type { TaskRunner } from '../runner.ts'
import type { Task } from '../task.ts'

const fault = errors({
  CONTENT_EXPIRED: [404, 'The content is no longer available.'],
  CONTENT_RANGE: [416, 'The content does not have the requested range.'],
  CONTENT_UNREACHABLE: [502, 'The content cannot be fetched at the moment.'],
})

/** Media types that no browser runs scripts of. */
export const SAFE_TYPE = /^(?:video|audio)\/[\w.+-]+$|^image\/(?:png|jpeg|webp|gif)$/
const PASSED = ['accept-ranges', 'content-encoding', 'content-length', 'content-range', 'etag']
/** Statuses of files that were deleted, or of links that have expired. */
const DELETED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 410])

interface LinkSource {
  readonly host: Host
  readonly runner: TaskRunner
}
/** Sends the file behind a link of the task's results. The upstream is asked for the link again
 *  before it expires, and once it has, if the route says so. Rejects with a fault for the
 *  client. */
export const sendLink = async (
  exchange: Exchange,
  { host, runner }: LinkSource,
  task: Task,
  linkOf: (task: Task) => string,
): Promise<void> => {
  const fresh = await runner.refreshLinks(host, task)
  try {
    await sendContent(exchange, host, fresh, linkOf(fresh))
  } catch (error) {
    if (!isCode(error, 'CONTENT_EXPIRED')) throw error
    const renewed = await runner.refreshLinks(host, fresh, true)
    if (linkOf(renewed) === linkOf(fresh)) throw error
    await sendContent(exchange, host, renewed, linkOf(renewed))
  }
}
/** `url`: from the upstream's answer. */
const sendContent = async (
  exchange: Exchange,
  host: Host,
  task: Task,
  url: string,
): Promise<void> => {
  const { method } = exchange.request
  const reply = await open(exchange, host, task, url)
  if (reply.status !== 200 && reply.status !== 206) {
    await discardBody(reply)
    throw refusalOf(reply)
  }
  const headers = headersOf(reply)
  // A signed URL is often for GET only.
  if (method === 'HEAD') await discardBody(reply)
  exchange.answer(reply.status, method === 'HEAD' ? undefined : reply.body, headers)
}

/** An upstream inside the gateway serves its files itself; the addresses of others are public. */
const open = async (
  { request, signal }: Exchange,
  host: Host,
  task: Task,
  url: string,
): Promise<Reply> => {
  const { range, 'if-range': ifRange } = request.headers
  const headers: Headers = { accept: '*/*', 'accept-encoding': 'identity' }
  if (range !== undefined) headers.range = range
  if (ifRange !== undefined) headers['if-range'] = ifRange
  const { upstream } = task.target
  const isInside = host.upstreams[upstream]?.inside !== undefined
  const path = isInside ? (URL.parse(url)?.pathname ?? '/') : url
  try {
    return await host.send(isInside ? upstream : 'public', { method: 'GET', path, headers, signal })
  } catch (error) {
    host.log.warn({ task: task.id, reason: textOf(error) }, 'a result cannot be fetched')
    throw fault('CONTENT_UNREACHABLE', [], { cause: error })
  }
}
const refusalOf = ({ status, headers }: Reply) => {
  if (DELETED_STATUSES.has(status)) return fault('CONTENT_EXPIRED')
  if (status !== 416) return fault('CONTENT_UNREACHABLE')
  const range = headers['content-range']
  return fault(
    'CONTENT_RANGE',
    [],
    range === undefined ? {} : { headers: { 'content-range': range } },
  )
}
const headersOf = ({ headers }: Reply): Headers => {
  const [type = ''] = String(headers['content-type'] ?? '').split(';')
  const passed = PASSED.flatMap((name): [string, string | string[]][] =>
    headers[name] === undefined ? [] : [[name, headers[name]]],
  )
  return {
    ...Object.fromEntries(passed),
    'content-type': SAFE_TYPE.test(type.trim()) ? type.trim() : 'application/octet-stream',
    'cache-control': 'private',
    'x-content-type-options': 'nosniff',
  }
}
