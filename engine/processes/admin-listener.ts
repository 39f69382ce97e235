/** The operator's listener: health, readiness, the version that serves, the numbers, reload and rollback. Loopback by default. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import type { Problem } from '../config/problem.ts'
import type { AdminRequest, Json } from '../plugin.ts'
import { createServer } from '../request/node-http.ts'

/** What a request to it is answered with. */
export interface AdminReply {
  readonly status: number
  /** A text is sent as `type`, plain without it; an object as JSON. */
  readonly body: string | object
  readonly type?: string
}
/** `POST /-/reload` and the like: method and path to what answers. */
export type AdminRoutes = Readonly<
  Record<string, (query: URLSearchParams) => AdminReply | Promise<AdminReply>>
>
/** Endpoints that plugins add. */
export interface PluginEndpoints {
  /** `GET /-/spenders` and the like, of the version that serves. */
  names(): readonly string[]
  ask(request: PluginRequest): Promise<AdminReply>
}
/** As it travels to the worker that answers. */
export type PluginRequest = Omit<AdminRequest, 'query'> & { readonly query: string }
/** What `GET /-/config` tells. */
export interface ConfigView {
  readonly version: number
  readonly hash: string
  readonly time: string
  readonly url: string
  readonly workers: readonly {
    readonly number: number
    readonly pid: number
    readonly state: string
    readonly version: number
  }[]
  /** The last attempt to reload, if it had problems. */
  readonly failure: { readonly time: string; readonly problems: readonly Problem[] } | null
}
export interface Admin {
  readonly address: AddressInfo
  close(): Promise<void>
}

export interface AdminOptions {
  readonly host: string
  readonly port: number
  readonly routes: AdminRoutes
  readonly plugins?: PluginEndpoints
  /** `Host` names that it answers besides loopback and `host`: with commas or spaces between them. */
  hosts?(): string
}

export const listenAdmin = (options: AdminOptions): Promise<Admin> => {
  const { host, port } = options
  const server = createServer((incoming, response) => {
    answer(incoming, options).then(
      reply => send(response, reply),
      error => send(response, { status: 500, body: { error: String(error?.message ?? error) } }),
    )
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve({
        address: server.address() as AddressInfo,
        close: () =>
          new Promise(closed => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}

const answer = async (incoming: IncomingMessage, options: AdminOptions): Promise<AdminReply> => {
  const { method = 'GET', url = '/', headers } = incoming
  const { routes, plugins } = options
  // A page in the operator's browser reaches loopback by a name that it rebinds to it.
  if (!isServed(incoming, options)) {
    const error =
      `the admin listener does not answer to the Host "${headers.host ?? ''}": ask by a loopback ` +
      'address, or add the name to settings.admin_hosts (ADMIN_HOSTS)'
    return { status: 403, body: { error } }
  }
  const [path, query] = url.split('?', 2)
  const verb = method === 'HEAD' ? 'GET' : method
  const name = `${verb} ${path}`
  const route = routes[name]
  const added = plugins?.names() ?? []
  if (!route && !added.includes(name)) {
    const known = [...Object.keys(routes), ...added]
    const elsewhere = known.some(each => each.endsWith(` ${path}`))
    return { status: elsewhere ? 405 : 404, body: { error: `try ${known.join(', ')}` } }
  }
  // Or from its own origin: what it cannot read it could still change.
  if (verb !== 'GET' && !isSameOrigin(headers))
    return { status: 403, body: { error: 'a web page of another origin may change nothing here' } }
  if (route) return route(new URLSearchParams(query))
  const body = await bodyOf(incoming)
  if ('refused' in body) return body.refused
  const request = { method: verb, path: path ?? '', query: query ?? '', body: body.json }
  return plugins?.ask(request) ?? { status: 404, body: { error: 'no plugin answers this' } }
}

/** Bytes of a body that a plugin's endpoint is given. */
const LARGEST = 1024 * 1024
const bodyOf = async (
  incoming: IncomingMessage,
): Promise<{ readonly json: Json | undefined } | { readonly refused: AdminReply }> => {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length
    if (size <= LARGEST) parts.push(part)
  }
  if (size > LARGEST)
    return { refused: { status: 413, body: { error: `the body is larger than ${LARGEST} bytes` } } }
  if (size === 0) return { json: undefined }
  try {
    return { json: JSON.parse(Buffer.concat(parts).toString()) as Json }
  } catch {
    return { refused: { status: 400, body: { error: 'the body is no JSON' } } }
  }
}

const hostOf = (authority: string): string =>
  authority
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
/** Loopback, names that the operator chose, and the very address that the connection reached: no
 *  name can be rebound to that one. */
const isServed = ({ headers, socket }: IncomingMessage, options: AdminOptions): boolean => {
  const name = hostOf(headers.host ?? '')
  if (name === '') return false
  if (isLoopback(name) || name === hostOf(options.host)) return true
  if (isIP(name) !== 0 && name === socket.localAddress?.replace(/^::ffff:/, '')) return true
  const hosts = options.hosts?.() ?? ''
  return hosts.split(/[\s,]+/).some(each => hostOf(each) === name)
}
const isSameOrigin = ({ origin, host, ...headers }: IncomingHttpHeaders): boolean => {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return origin === undefined || origin === `http://${host}`
}

const send = (response: ServerResponse, { status, body, type }: AdminReply): void => {
  const isText = typeof body === 'string'
  const usual = isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json'
  response.writeHead(status, {
    'content-type': type ?? usual,
    'cache-control': 'no-store',
  })
  response.end(isText ? body : `${JSON.stringify(body)}\n`)
}
