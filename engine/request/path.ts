/** One canonical form of a request target: what is routed on is what is forwarded. Pure. */
import { errors } from '../errors.ts'

const fault = errors({
  PATH_REFUSED: [400, 'The path is not acceptable: %s.'],
  AUTHORITY_MISMATCH: [400, 'The request target and the Host header name different hosts.'],
})

export interface TargetParts {
  readonly path: string
  /** Without the question mark; empty when there is none. */
  readonly search: string
}

/** Splits and canonicalises: unreserved characters decoded, `//` collapsed; what could mean two things is refused. */
export const readTarget = (target: string, host: string | undefined): TargetParts => {
  const local = target.charCodeAt(0) === SLASH ? target : fromAbsolute(target, host)
  const mark = local.indexOf('?')
  const search = mark < 0 ? '' : local.slice(mark + 1)
  if (search !== '' && /[#\\]/.test(search))
    throw fault('PATH_REFUSED', ['"#" or "\\" in the query'])
  return { path: canonical(mark < 0 ? local : local.slice(0, mark)), search }
}
const SLASH = 0x2f

const fromAbsolute = (target: string, host: string | undefined): string => {
  const parts = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(target)
  if (!parts) throw fault('PATH_REFUSED', ['it does not begin with "/"'])
  if (parts[1]?.toLowerCase() !== host?.toLowerCase()) throw fault('AUTHORITY_MISMATCH')
  const rest = parts[2] ?? '/'
  return rest.startsWith('?') ? `/${rest}` : rest
}

const PLAIN = /^(?:\/[A-Za-z0-9\-_~!$&'()*+,=:@][A-Za-z0-9\-._~!$&'()*+,=:@]*)+\/?$/
const canonical = (path: string): string => {
  if (PLAIN.test(path)) return path
  if (/[#;\\]/.test(path)) throw fault('PATH_REFUSED', ['it holds "#", ";" or "\\"'])
  const decoded = path.replace(/%([0-9A-Fa-f]{2})|%/g, decodeUnreserved).replace(/\/{2,}/g, '/')
  if (/(?:^|\/)\.\.?(?:\/|$)/.test(decoded))
    throw fault('PATH_REFUSED', ['it holds "." or ".." segments'])
  if (!LEGAL.test(decoded)) throw fault('PATH_REFUSED', ['it holds characters no path has'])
  if (decoded.includes('%') && !isText(decoded))
    throw fault('PATH_REFUSED', ['its escapes are not UTF-8'])
  return decoded
}
/** RFC 3986 §3.3: what may stand in a path without being escaped, and escapes. */
const LEGAL = /^\/[A-Za-z0-9\-._~!$&'()*+,=:@/%]*$/
/** Overlong forms (`%c0%af` for a slash) are a path of their own to a lenient reader. */
const isText = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}
/** RFC 3986 §2.3: an encoded unreserved character is the character. A separator hidden in one is refused. */
const decodeUnreserved = (encoded: string, hex: string | undefined): string => {
  if (hex === undefined) throw fault('PATH_REFUSED', ['a "%" that starts no escape'])
  const character = String.fromCharCode(Number.parseInt(hex, 16))
  if (/[A-Za-z0-9\-._~]/.test(character)) return character
  if (/[\\/#;%?\0]/.test(character) || character < ' ' || character === '\x7f')
    throw fault('PATH_REFUSED', [`it holds ${encoded}`])
  return encoded.toUpperCase()
}
