/** Google's protocol of uploads: its headers, and the address of an upload that has begun, which is
 *  replaced by one of the gateway. Pure but for new ids. */
import { randomBytes } from 'node:crypto'
import type { Headers, Host, Reply, Request } from '../../engine/plugin.ts'
import { type Fields, lenientText } from '../formats/fields.ts'
import type { Resource } from './rows.ts'

const PREFIX = 'x-goog-upload-'
const URL_HEADERS = ['x-goog-upload-url', 'x-goog-upload-control-url']

/** The headers of the client's request that steer an upload. */
export const uploadHeaders = (headers: Request['headers']): Headers => {
  const names = Object.keys(headers).filter(name => name.startsWith(PREFIX))
  return Object.fromEntries(names.map(name => [name, headers[name] ?? '']))
}
/** Path and query at the upstream. */
export const resumedUpload = ({ details }: Pick<Resource, 'details'>): string =>
  lenientText(details, 'path') ?? ''

/** Replaces the addresses in the headers of the response. Undefined if it begins no upload. */
export const withUploadUrl = (
  reply: Reply,
  host: Pick<Host, 'url' | 'route'>,
): { readonly id: string; readonly details: Fields } | undefined => {
  const url = URL.parse(String(reply.headers[URL_HEADERS[0] ?? ''] ?? ''))
  if (!url) return undefined
  const id = randomBytes(16).toString('hex')
  for (const name of URL_HEADERS)
    if (reply.headers[name] !== undefined)
      reply.headers[name] = host.url(`${host.route.pattern}?upload_id=${id}`)
  // The host is that of the configured address: all requests of the upload use it.
  return { id, details: { path: url.pathname + url.search } }
}
