/** Canonicalises request targets: the path that is routed is the path that is forwarded. Pure. */
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

/** Splits and canonicalises a target; refuses what could mean two things. */
export const readTarget = (target: string, host: string | undefined): TargetParts => {
  const local = target.charCodeAt(0) === SLASH ? target : localPart(target, host)
  const mark = local.indexOf('?')
  const search = mark < 0 ? '' : local.slice(mark + 1)
  if (search !== '' && /[#\\]/.test(search))
    throw fault('PATH_REFUSED', ['"#" or "\\" in the query'])
  return { path: canonicalPath(mark < 0 ? local : local.slice(0, mark)), search }
}
const SLASH = 0x2f

const localPart = (target: string, host: string | undefined): string => {
  const parts = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(target)
  if (!parts) throw fault('PATH_REFUSED', ['it does not begin with "/"'])
  if (parts[1]?.toLowerCase() !== host?.toLowerCase()) throw fault('AUTHORITY_MISMATCH')
  const rest = parts[2] ?? '/'
  return rest.startsWith('?') ? `/${rest}` : rest
}

const CANONICAL = /^(?:\/[A-Za-z0-9\-_~!$&'()*+,=:@][A-Za-z0-9\-._~!$&'()*+,=:@]*)+\/?$/
const canonicalPath = (path: string): string => {
  if (CANONICAL.test(path)) return path
  if (/[#;\\]/.test(path)) throw fault('PATH_REFUSED', ['it holds "#", ";" or "\\"'])
  const canonical = path.replace(/%([0-9A-Fa-f]{2})|%/g, decodeEscape).replace(/\/{2,}/g, '/')
  if (/(?:^|\/)\.\.?(?:\/|$)/.test(canonical))
    throw fault('PATH_REFUSED', ['it holds "." or ".." segments'])
  if (!PATH_CHARACTERS.test(canonical))
    throw fault('PATH_REFUSED', ['it holds characters that a path must escape'])
  if (canonical.includes('%') && !isUtf8Text(canonical))
    throw fault('PATH_REFUSED', ['its escapes are not UTF-8'])
  return canonical
}
/** RFC 3986 §3.3: characters that need no escape in a path, and escapes. */
const PATH_CHARACTERS = /^\/[A-Za-z0-9\-._~!$&'()*+,=:@/%]*$/
/** A lenient reader takes overlong forms (`%c0%af` for a slash) for another path. */
const isUtf8Text = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}
/** RFC 3986 §2.3: decodes an escaped unreserved character, and refuses an escaped separator. */
const decodeEscape = (sequence: string, hex: string | undefined): string => {
  if (hex === undefined) throw fault('PATH_REFUSED', ['a "%" that starts no escape'])
  const character = String.fromCharCode(Number.parseInt(hex, 16))
  if (/[A-Za-z0-9\-._~]/.test(character)) return character
  if (/[\\/#;%?\0]/.test(character) || character < ' ' || character === '\x7f')
    throw fault('PATH_REFUSED', [`it holds ${sequence}`])
  return sequence.toUpperCase()
}
