/** The admin HTTP listener: health, readiness, configuration, metrics, reload and rollback. It
 *  binds to loopback by default, where endpoints of operators need a credential, and to a Unix
 *  socket in the data folder, which needs none. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { type Access, accessOf } from '../config/admin-endpoints.ts'
import type { AdminRequest, Json, Operator, PresentedCredential } from '../plugin.ts'
import { createServer } from '../request/node-http.ts'
import { listenOnSocket } from './admin-socket.ts'
import { isLoopback } from './listen-address.ts'

/** Response of an admin route. */
export interface AdminReply {
  readonly status: number
  /** A string is sent with content type `type` (default text/plain), an object as JSON. */
  readonly body: string | object
  readonly type?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
}
/** Handlers by method and path, for example `POST /-/reload`. */
export type AdminRoutes = Readonly<
  Record<string, (query: URLSearchParams, operator?: Operator) => AdminReply | Promise<AdminReply>>
>
/** Admin endpoints that plugins register. */
export interface PluginEndpoints {
  /** Names such as `GET /-/spenders`, of the live version. */
  names(): readonly string[]
  send(request: PluginRequest): Promise<AdminReply>
}
/** An admin request as the primary sends it to a worker over IPC. */
export type PluginRequest = Omit<AdminRequest, 'query'> & { readonly query: string }
/** Finds the operator of a credential, or the refusal. */
export type Authorize = (
  credential: PresentedCredential,
) => Promise<{ readonly operator: Operator } | { readonly refusal: AdminReply }>
export interface AdminListener {
  readonly address: AddressInfo
  close(): Promise<void>
}

export interface AdminOptions {
  readonly host: string
  readonly routes: AdminRoutes
  readonly plugins?: PluginEndpoints
  readonly authorize: Authorize
  /** The credential for `/metrics`; empty: none is set. */
  metricsKey?(): string
  /** Further accepted `Host` names, separated by commas or spaces. Loopback and `host` are always
   *  accepted. */
  hosts?(): string
}

/** ms an idle connection is kept: longer than clients keep theirs, so that none is closed as a
 *  request arrives. */
const KEEP_IDLE = 65_000

export const listenAdmin = (
  options: AdminOptions & { readonly port: number },
): Promise<AdminListener> => {
  const { host, port } = options
  const server = serverOf(options, admitOverTcp)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve({ address: server.address() as AddressInfo, close: () => close(server) })
    })
  })
}
/** Listens on the socket of the data folder. Rejects with the reason where that is impossible. */
export const listenAdminSocket = async (
  options: AdminOptions,
  data: string,
): Promise<{ readonly path: string; close(): Promise<void> }> => {
  const server = serverOf(options, async () => ({}))
  return { path: await listenOnSocket(server, data), close: () => close(server) }
}
const close = (server: Server): Promise<void> =>
  new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

/** Who calls. `operator`: undefined if the endpoint needs none, and on the socket. */
type Admission = { readonly operator?: Operator } | { readonly refusal: AdminReply }
type Admit = (
  incoming: IncomingMessage,
  access: Access,
  options: AdminOptions,
) => Promise<Admission>

const serverOf = (options: AdminOptions, admit: Admit): Server => {
  const server = createServer((incoming, response) => {
    respond(incoming, options, admit).then(
      reply => sendReply(response, reply),
      error =>
        sendReply(response, { status: 500, body: { error: String(error?.message ?? error) } }),
    )
  })
  server.keepAliveTimeout = KEEP_IDLE
  return server
}

const respond = async (
  incoming: IncomingMessage,
  options: AdminOptions,
  admit: Admit,
): Promise<AdminReply> => {
  const { method = 'GET', url = '/', headers } = incoming
  const { routes, plugins } = options
  // DNS rebinding: a page in the operator's browser can point its own host name at loopback.
  if (!isAcceptedHost(incoming, options)) {
    const error =
      `the admin listener does not accept the Host "${headers.host ?? ''}": use a loopback ` +
      'address, or add the name to settings.admin_hosts (ADMIN_HOSTS)'
    return { status: 403, body: { error } }
  }
  const verb = method === 'HEAD' ? 'GET' : method
  // CSRF: a page of another origin cannot read a response, but could still send a POST.
  if (verb !== 'GET' && !isSameOrigin(headers))
    return { status: 403, body: { error: 'cross-origin requests cannot change anything here' } }
  const [path = '', query] = url.split('?', 2)
  const name = `${verb} ${path}`
  // Before the list of endpoints: it is for operators, too.
  const admission = await admit(incoming, accessOf(name), options)
  if ('refusal' in admission) return admission.refusal
  const route = routes[name]
  const pluginNames = plugins?.names() ?? []
  if (!route && !pluginNames.includes(name)) {
    const endpoints = [...Object.keys(routes), ...pluginNames]
    const isKnownPath = endpoints.some(each => each.endsWith(` ${path}`))
    return { status: isKnownPath ? 405 : 404, body: { error: `try ${endpoints.join(', ')}` } }
  }
  const { operator } = admission
  if (route) return route(new URLSearchParams(query), operator)
  const body = await readBody(incoming)
  if ('refusal' in body) return body.refusal
  const address = addressOf(incoming)
  const caller = { ...(operator && { operator }), ...(address !== undefined && { address }) }
  const request = { method: verb, path, query: query ?? '', body: body.json }
  return (
    plugins?.send({ ...request, ...caller }) ?? {
      status: 404,
      body: { error: 'no plugin has this endpoint' },
    }
  )
}

/** Undefined on the Unix socket. */
const addressOf = ({ socket }: IncomingMessage): string | undefined =>
  socket.remoteAddress?.replace(/^::ffff:/, '')

const admitOverTcp: Admit = async (incoming, access, options) => {
  if (access === 'open') return {}
  const { authorization } = incoming.headers
  const key = options.metricsKey?.() ?? ''
  if (access === 'metrics') {
    if (key === '' ? isLoopback(options.host) : isBearerOf(key, authorization)) return {}
    if (key !== '' && authorization === undefined) return refuse(METRICS_REFUSAL)
  }
  if (authorization === undefined) return refuse(OPERATOR_REFUSAL)
  return options.authorize({ authorization, address: addressOf(incoming) ?? '' })
}
const OPERATOR_REFUSAL =
  'this needs the credential of an operator (Authorization: Bearer st-…), or the command line ' +
  'as the user of the gateway, which uses a socket in the data folder'
const METRICS_REFUSAL = 'metrics need the value of settings.metrics_key: Authorization: Bearer …'
const refuse = (message: string) => ({
  refusal: {
    status: 401,
    body: { error: { code: 'AUTH_MISSING', message } },
    headers: { 'www-authenticate': 'Bearer' },
  },
})
/** In constant time. */
const isBearerOf = (key: string, authorization = ''): boolean => {
  const [, credential = ''] = /^Bearer +(\S+) *$/i.exec(authorization) ?? []
  return timingSafeEqual(digestOf(key), digestOf(credential))
}
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

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

const sendReply = (response: ServerResponse, { status, body, type, headers }: AdminReply): void => {
  const isText = typeof body === 'string'
  const usual = isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json'
  response.writeHead(status, {
    'content-type': type ?? usual,
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(isText ? body : `${JSON.stringify(body)}\n`)
}
