/** Renders a request whose head is refused: its path and headers choose the dialect. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Fault, Refusal } from '../plugin.ts'
import type { RequestHeaders } from '../response/headers.ts'
import { plainRefusal } from '../response/refusal.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { AcceptContext } from './accept-request.ts'
import { Call, NO_ROUTE } from './exchange.ts'
import { IncomingRequest } from './incoming-request.ts'
import { ServerRequest } from './node-http.ts'

const NO_BODY = { limit: 0, encodings: [], inflatedLimit: 0 }

/** Renders a fault of a request without a route in the dialect of the nearest one. */
export const renderRefusedHead = (
  incoming: IncomingMessage,
  snapshot: Snapshot,
  context: AcceptContext,
  reason: Fault,
): Refusal & { readonly id: string } => {
  const call = anonymousCall(incoming, context)
  const nearest = snapshot.findNearest(call.request.path)
  const { status, body, headers } = (nearest?.fail ?? plainRefusal)(reason, call)
  const own = { 'x-request-id': call.id, 'x-tollgate-version': String(snapshot.version) }
  return {
    id: call.id,
    status,
    body,
    headers: { ...(nearest?.headers?.(headers, call) ?? headers), ...own },
  }
}

/** The call of a refused head. Its path is not canonical. */
const anonymousCall = (incoming: IncomingMessage, { makeId, store, pace }: AcceptContext): Call => {
  const random = makeId()
  const id = `req_${random}`
  const headers = looseHeaders(incoming)
  const head = { path: roughPath(incoming), search: '', headers, encrypted: false }
  const request = new IncomingRequest(incoming, head, NO_BODY, pace)
  return new Call({ id, kind: 'http', trace: random, route: NO_ROUTE, request, store })
}

/** The last value of each header, unchecked. */
const looseHeaders = ({ rawHeaders }: IncomingMessage): RequestHeaders => {
  const headers: Record<string, string | undefined> = Object.create(null)
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers[String(rawHeaders[at]).toLowerCase()] = rawHeaders[at + 1]
  return headers
}

/** The path of a request target that may be invalid. */
const roughPath = ({ url = '/' }: Pick<IncomingMessage, 'url'>): string =>
  url
    .replace(/^\w+:\/\/[^/]*/, '')
    .replace(/[?#].*$/s, '')
    .replace(/%[2-7][0-9a-f]/gi, code => {
      const character = decodeURIComponent(code)
      return /[A-Za-z0-9\-._~]/.test(character) ? character : code
    })

/** A request as far as the parser's last packet shows it. `at`: offset of the refused byte. */
export const requestIn = (
  socket: Socket,
  packet: Uint8Array = NOTHING,
  at = 0,
): IncomingMessage => {
  const text = Buffer.from(packet).toString('latin1')
  const lines = [...text.matchAll(/^[A-Z]+ (\S[^\r\n]*)/gm)].filter(({ index }) => index <= at)
  const line = lines.at(-1)
  const url = line?.[1]?.replace(/ HTTP\/[\d.]+$/, '') ?? '/'
  const head = text.slice(line?.index ?? text.length).split('\r\n\r\n', 1)[0] ?? ''
  const rawHeaders = [...head.matchAll(/^([\w-]+):[ \t]*([^\r\n]*)/gm)].flatMap(
    ([, name = '', value = '']) => [name, value],
  )
  return Object.assign(new ServerRequest(socket), { url, rawHeaders })
}
const NOTHING = Buffer.alloc(0)
