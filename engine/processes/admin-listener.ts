/** The operator's listener: health, readiness, the version that serves, the numbers, reload and rollback. Loopback by default. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import type { Problem } from '../config/problem.ts'
import { createServer } from '../request/node-http.ts'

/** What a request to it is answered with. */
export interface AdminReply {
  readonly status: number
  readonly body: string | object
}
/** `POST /-/reload` and the like: method and path to what answers. */
export type AdminRoutes = Readonly<
  Record<string, (query: URLSearchParams) => AdminReply | Promise<AdminReply>>
>
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

export const listenAdmin = (host: string, port: number, routes: AdminRoutes): Promise<Admin> => {
  const server = createServer((incoming, response) => {
    answer(incoming, host, routes).then(
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

const answer = async (
  { method = 'GET', url = '/', headers }: IncomingMessage,
  host: string,
  routes: AdminRoutes,
): Promise<AdminReply> => {
  const [path, query] = url.split('?', 2)
  const route = routes[`${method === 'HEAD' ? 'GET' : method} ${path}`]
  if (!route) {
    const known = Object.keys(routes)
    const elsewhere = known.some(each => each.endsWith(` ${path}`))
    return { status: elsewhere ? 405 : 404, body: { error: `try ${known.join(', ')}` } }
  }
  // A page in the operator's browser reaches loopback as well: by a name it rebinds, or from its own origin.
  if (method === 'POST' && !(isOurs(headers.host, host) && isSameOrigin(headers))) {
    return { status: 403, body: { error: 'only for programs of this machine, by a local address' } }
  }
  return route(new URLSearchParams(query))
}

const hostOf = (authority: string): string =>
  authority
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
const isOurs = (authority: string | undefined, host: string): boolean => {
  const name = hostOf(authority ?? '')
  return isLoopback(name) || name === hostOf(host)
}
const isSameOrigin = ({ origin, host, ...headers }: IncomingHttpHeaders): boolean => {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return origin === undefined || origin === `http://${host}`
}

const send = (response: ServerResponse, { status, body }: AdminReply): void => {
  const isText = typeof body === 'string'
  response.writeHead(status, {
    'content-type': isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json',
    'cache-control': 'no-store',
  })
  response.end(isText ? body : `${JSON.stringify(body)}\n`)
}
