/** Signed URLs: whoever has one may download its file until it expires. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { extname } from 'node:path'
import type { Bytes, HostBase, Json } from '../../engine/plugin.ts'
import { fileStoreOf } from './file-store.ts'
import type { StoredFile } from './stored-file.ts'

/** ms. */
export const SIGNED_LIFETIME = 24 * 3_600_000
/** The path of the route with `files: signed`, without the name. */
const PATH = '/files/'
const ROUTE = /^(?:GET )?\/files\/\{\w+\}$/

/** Whether one of the `routes:` of the configuration serves signed URLs. */
export const servesSignedUrls = (routes: Json | undefined): boolean =>
  Array.isArray(routes) &&
  (routes as readonly RouteEntry[]).some(
    ({ path, files }) => files === 'signed' && ROUTE.test(path ?? ''),
  )
interface RouteEntry {
  readonly path?: string
  readonly files?: string
}

/** A URL that serves the file for 24 hours. `now`: ms since 1970. */
export const signedUrl = async (
  host: HostBase,
  { id, filename }: Pick<StoredFile, 'id' | 'filename'>,
  now: number,
): Promise<string> => {
  const name = `${id}${extname(filename).toLowerCase()}`
  const expires = Math.floor((now + SIGNED_LIFETIME) / 1_000)
  const signature = sign(await fileStoreOf(host).secret(), name, expires)
  return `${host.url(PATH)}${encodeURIComponent(name)}?expires=${expires}&signature=${signature}`
}
/** The id of the file that a signed URL names; undefined if it has expired or is not signed. */
export const readSignedUrl = (
  secret: Bytes,
  name: string,
  query: URLSearchParams,
  now: number,
): string | undefined => {
  const expires = query.get('expires') ?? ''
  if (!/^\d{1,12}$/.test(expires) || Number(expires) * 1_000 <= now) return undefined
  const expected = Buffer.from(sign(secret, name, Number(expires)))
  const received = Buffer.from(query.get('signature') ?? '')
  if (expected.length !== received.length || !timingSafeEqual(expected, received)) return undefined
  return name.replace(/\..*$/, '')
}
/** The file that this URL serves; undefined for URLs of others, and if it has expired. */
export const fileBehindUrl = async (
  host: HostBase,
  url: string,
  now: number,
): Promise<StoredFile | undefined> => {
  const base = host.url(PATH)
  if (!url.startsWith(base) || !URL.canParse(url)) return undefined
  const store = fileStoreOf(host)
  const { pathname, searchParams } = new URL(url)
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  const id = readSignedUrl(await store.secret(), name, searchParams, now)
  return id === undefined ? undefined : store.find(id, undefined).catch(() => undefined)
}
const sign = (secret: Bytes, name: string, expires: number): string =>
  createHmac('sha256', secret).update(`${name}\n${expires}`).digest('base64url')
