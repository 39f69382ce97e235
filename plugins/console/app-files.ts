/** Serves the page of the console and its files: compressed, with ETags, and with headers that
 *  allow nothing but the console's own files. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Bytes, Exchange, Headers, Host } from '../../engine/plugin.ts'
import { CONSOLE_PATH } from '../credentials/sign-in-link.ts'
import client from './client/main.tsx?browser'
import { fault } from './faults.ts'
import { signInAddress } from './provider-sign-in.ts'

type Handle = (exchange: Exchange) => Promise<void>
const compress = promisify(gzip)

/** Scripts and styles come from files of this origin only, and nothing is sent anywhere else. */
const SECURITY: Headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
}
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
}

interface AppFile {
  readonly bytes: Bytes
  readonly type: string
  readonly etag: string
  /** Set by the first request that accepts it. */
  compressed?: Promise<Bytes>
}
const createFile = (name: string, text: string): AppFile => ({
  bytes: Buffer.from(text),
  type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
  etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
})

const PAGE = 'index.html'
/** The files of the console by name, one set per process. */
class AppFiles {
  readonly byName: ReadonlyMap<string, AppFile>

  constructor() {
    this.byName = new Map(
      Object.entries(client).map(([name, text]) => [name, createFile(name, text)]),
    )
  }
}
/** `signIn`: where the sign-in by the identity provider begins. */
const pageOf = (names: readonly string[], signIn: string | undefined): string => {
  const folder = CONSOLE_PATH.slice(1)
  const [script, style] = [/^main-\w+\.js$/, /^main-\w+\.css$/].map(pattern =>
    names.find(name => pattern.test(name)),
  )
  const preloads = script === undefined ? [] : importsOf(script)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tollgate</title>
${signIn === undefined ? '' : `<meta name="sign-in" content="${attribute(signIn)}">\n`}<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}/${style}">
${preloads.map(name => `<link rel="modulepreload" href="${folder}/${name}">\n`).join('')}<script type="module" src="${folder}/${script}"></script>
</head>
<body><div id="app"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`
}

const attribute = (text: string): string =>
  text.replace(/[&"<>]/g, each => `&#${each.charCodeAt(0)};`)

/** The files that a script needs before it runs; those that it imports on demand are not among
 *  them. */
const importsOf = (name: string): readonly string[] =>
  [...(client[name] ?? '').matchAll(/(?:from|import)"\.\/([\w.-]+)"/g)].map(([, file = '']) => file)

const filesOf = (host: Host): AppFiles =>
  host.share('console/files', Object.keys(client).join(), () => new AppFiles())

const send = async (exchange: Exchange, file: AppFile, caching: string): Promise<void> => {
  const { headers } = exchange.request
  const { bytes, type, etag } = file
  const shared = { ...SECURITY, etag, 'cache-control': caching, vary: 'accept-encoding' }
  const known = headers['if-none-match']?.split(/\s*,\s*/).map(each => each.replace(/^W\//, ''))
  if (known?.includes(etag)) {
    exchange.answer(304, undefined, shared)
    return
  }
  const isCompressed = /\bgzip\b/.test(headers['accept-encoding'] ?? '')
  if (isCompressed) file.compressed ??= compress(bytes, { level: 9 })
  exchange.answer(200, isCompressed ? await file.compressed : bytes, {
    ...shared,
    'content-type': type,
    ...(isCompressed && { 'content-encoding': 'gzip' }),
  })
}

/** `GET /console` */
export const page = (host: Host): Handle => {
  let file: AppFile | undefined
  return async exchange => {
    // The public address is known once the gateway listens.
    file ??= createFile(PAGE, pageOf(Object.keys(client), signInAddress(host)))
    await send(exchange, file, 'no-cache')
  }
}
/** `GET /`: browsers go to the console; other clients are told that no API is here. */
export const home = (): Handle => async exchange => {
  const { method, path, headers } = exchange.request
  const vary = { vary: 'accept', 'cache-control': 'no-cache' }
  if (!/\btext\/html\b/i.test(headers.accept ?? ''))
    throw fault('ROUTE_NOT_FOUND', [method, path], { headers: vary })
  // Relative: a proxy in front may serve the gateway below a path.
  exchange.answer(302, undefined, { ...vary, location: CONSOLE_PATH.slice(1) })
}
/** `GET /console/`: the page has no slash at its end. Relative, as above. */
export const folder = (): Handle => async exchange => {
  exchange.answer(308, undefined, { location: `..${CONSOLE_PATH}` })
}
/** `GET /console/{file}`: the names contain hashes of the content. */
export const file = (host: Host): Handle => {
  const { byName } = filesOf(host)
  return async exchange => {
    const name = Object.values(exchange.params)[0] ?? ''
    const appFile = byName.get(name)
    if (!appFile) throw fault('FILE_UNKNOWN')
    await send(exchange, appFile, 'public, max-age=31536000, immutable')
  }
}
