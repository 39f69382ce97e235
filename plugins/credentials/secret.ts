/** Creates, recognises and masks secrets: API keys, system tokens, sessions of the console and
 *  sign-in links. Independent of storage. */
import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

export type Kind = 'key' | 'system-token' | 'session' | 'sign-in-link'
export interface Secret {
  /** Shown once and never stored. */
  readonly text: string
  readonly digest: string
  readonly prefix: string
  readonly lastFour: string
}

const PREFIXES: Readonly<Record<Kind, string>> = {
  key: 'sk-',
  'system-token': 'st-',
  session: 'ss-',
  'sign-in-link': 'sl-',
}
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries(PREFIXES).map(([kind, prefix]) => [prefix, kind as Kind]),
)
// 62^43 > 2^256 and 62^6 > 2^32.
const BODY = 43
const CHECK = 6
const SHAPE = new RegExp(`^(?:sk|st|ss|sl)-[0-9A-Za-z]{${BODY + CHECK}}$`)

export const makeSecret = (kind: Kind, random: Uint8Array = randomBytes(32)): Secret => {
  const body = PREFIXES[kind] + base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), BODY)
  const text = body + checkOf(body)
  return { text, digest: digestOf(text), prefix: text.slice(0, 7), lastFour: text.slice(-4) }
}

/** The kind by prefix. */
export const claimedKind = (text: string): Kind | undefined => KINDS.get(text.slice(0, 3))

/** Whether shape and checksum are valid: guesses and typing errors need no read of the store. */
export const isWellFormed = (text: string): boolean =>
  SHAPE.test(text) && checkOf(text.slice(0, -CHECK)) === text.slice(-CHECK)

/** A secret that another gateway or an operator chose: any text without white space. Found with and
 *  without a leading `sk-`, since some gateways accept both. */
export const importedSecret = (text: string): Secret => {
  const visible = Math.min(4, Math.floor(text.length / 4))
  return {
    text,
    digest: digestOf(text),
    prefix: text.slice(0, visible),
    lastFour: visible === 0 ? '' : text.slice(-visible),
  }
}
/** Whether a key may have this text. Prefixes of other kinds would be looked up as those. */
export const isImportable = (text: string): boolean =>
  /^[\x21-\x7e]{1,512}$/.test(text) && (claimedKind(text) ?? 'key') === 'key' && text !== 'sk-'

/** 256 random bits need no slow hash, and a lookup by digest leaks no timing about near guesses. A
 *  leading `sk-` of an imported secret does not count. */
export const digestOf = (text: string): string => {
  const isOwn = isWellFormed(text) || !text.startsWith(PREFIXES.key)
  return hash('sha256', isOwn ? text : text.slice(PREFIXES.key.length))
}

/** Before the mark of a key that tokens of an identity provider use. No secret has a space. */
export const TOKEN_PREFIX = 'jwt: '
/** `sk-Ab3d…wxyz` */
export const maskSecret = (prefix: string, lastFour: string): string => `${prefix}…${lastFour}`

const checkOf = (body: string): string => base62(BigInt(crc32(body)), CHECK)
const base62 = (number: bigint, length: number): string => {
  let digits = ''
  for (let rest = number; digits.length < length; rest /= 62n)
    digits = DIGITS[Number(rest % 62n)] + digits
  return digits
}
