/** The admin HTTP listener: health, readiness, configuration, metrics, reload and rollback. It
 *  binds to loopback by default. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import type { AdminRequest, Json } from '../plugin.ts'
import { createServer } from '../request/node-http.ts'

/** Response of an admin route. */
export interface AdminReply {
  readonly status: number
  /** A string is sent with content type `type` (default text/plain), an object as JSON. */
  readonly body: string | object
  readonly type?: string
}
/** Handlers by method and path, for example `POST /-/reload`. */
export type AdminRoutes = Readonly<
  Record<string, (query: URLSearchParams) => AdminReply | Promise<AdminReply>>
>
/** Admin endpoints that plugins register. */
export interface PluginEndpoints {
  /** Names such as `GET /-/spenders`, of the live version. */
  names(): readonly string[]
  send(request: PluginRequest): Promise<AdminReply>
}
/** An admin request as the primary sends it to a worker over IPC. */
export type PluginRequest = Omit<AdminRequest, 'query'> & { readonly query: string }
export interface AdminListener {
  readonly address: AddressInfo
  close(): Promise<void>
}

export interface AdminOptions {
  readonly host: string
  readonly port: number
  readonly routes: AdminRoutes
  readonly plugins?: PluginEndpoints
  /** Further accepted `Host` names, separated by commas or spaces. Loopback and `host` are always
   *  accepted. */
  hosts?(): string
}

/** ms an idle connection is kept: longer than clients keep theirs, so that none is closed as a
 *  request arrives. */
const KEEP_IDLE = 65_000

export const listenAdmin = (options: AdminOptions): Promise<AdminListener> => {
  const { host, port } = options
  const server = createServer((incoming, response) => {
    respond(incoming, options).then(
      reply => sendReply(response, reply),
      error =>
        sendReply(response, { status: 500, body: { error: String(error?.message ?? error) } }),
    )
  })
  server.keepAliveTimeout = KEEP_IDLE
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve({
        address: server.address() as AddressInfo,
        close: () =>
          new Promise(resolveClose => {
            server.close(() => resolveClose())
            server.closeAllConnections()
          }),
      })
    })
  })
}

const respond = async (incoming: IncomingMessage, options: AdminOptions): Promise<AdminReply> => {
  const { method = 'GET', url = '/', headers } = incoming
  const { routes, plugins } = options
  // DNS rebinding: a page in the operator's browser can point its own host name at loopback.
  if (!isAcceptedHost(incoming, options)) {
    const error =
      `the admin listener does not accept the Host "${headers.host ?? ''}": use a loopback ` +
      'address, or add the name to settings.admin_hosts (ADMIN_HOSTS)'
    return { status: 403, body: { error } }
  }
  const [path, query] = url.split('?', 2)
  const verb = method === 'HEAD' ? 'GET' : method
  const name = `${verb} ${path}`
  const route = routes[name]
  const pluginNames = plugins?.names() ?? []
  if (!route && !pluginNames.includes(name)) {
    const endpoints = [...Object.keys(routes), ...pluginNames]
    const isKnownPath = endpoints.some(each => each.endsWith(` ${path}`))
    return { status: isKnownPath ? 405 : 404, body: { error: `try ${endpoints.join(', ')}` } }
  }
  // CSRF: a page of another origin cannot read a response, but could still send a POST.
  if (verb !== 'GET' && !isSameOrigin(headers))
    return { status: 403, body: { error: 'cross-origin requests cannot change anything here' } }
  if (route) return route(new URLSearchParams(query))
  const body = await readBody(incoming)
  if ('refusal' in body) return body.refusal
  const request = { method: verb, path: path ?? '', query: query ?? '', body: body.json }
  return plugins?.send(request) ?? { status: 404, body: { error: 'no plugin has this endpoint' } }
}

/** Largest request body of a plugin endpoint, bytes. */
const MAX_BODY_BYTES = 1024 * 1024
const readBody = async (
  incoming: IncomingMessage,
): Promise<{ readonly json: Json | undefined } | { readonly refusal: AdminReply }> => {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of incoming as AsyncIterable<Buffer>) {
    size += part.length
    if (size <= MAX_BODY_BYTES) parts.push(part)
  }
  if (size > MAX_BODY_BYTES)
    return {
      refusal: { status: 413, body: { error: `the body is larger than ${MAX_BODY_BYTES} bytes` } },
    }
  if (size === 0) return { json: undefined }
  try {
    return { json: JSON.parse(Buffer.concat(parts).toString()) as Json }
  } catch {
    return { refusal: { status: 400, body: { error: 'the body is not valid JSON' } } }
  }
}

const hostOf = (authority: string): string =>
  authority
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
/** Accepts loopback, the configured names, and the local address of the connection, to which no
 *  DNS name can be rebound. */
const isAcceptedHost = ({ headers, socket }: IncomingMessage, options: AdminOptions): boolean => {
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

const sendReply = (response: ServerResponse, { status, body, type }: AdminReply): void => {
  const isText = typeof body === 'string'
  const usual = isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json'
  response.writeHead(status, {
    'content-type': type ?? usual,
    'cache-control': 'no-store',
  })
  response.end(isText ? body : `${JSON.stringify(body)}\n`)
}
