/** The values of one sign-in by authorization code with PKCE (RFC 7636). All of them come from one
 *  secret, which only the browser keeps: nothing of an unfinished sign-in is in the store. Pure. */
import { hash, randomBytes } from 'node:crypto'

export interface CodeFlow {
  /** For the cookie that binds the sign-in to the browser. */
  readonly secret: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Of the verifier, S256. */
  readonly challenge: string
}
const SECRET = /^[\w-]{43}$/

export const beginFlow = (random: Uint8Array = randomBytes(32)): CodeFlow =>
  flowOf(Buffer.from(random).toString('base64url'))

/** The sign-in that this browser began; undefined: none, or another one. */
export const resumeFlow = (
  secret: string | undefined,
  state: string | null,
): CodeFlow | undefined => {
  if (secret === undefined || !SECRET.test(secret)) return undefined
  const flow = flowOf(secret)
  return flow.state === state ? flow : undefined
}
const flowOf = (secret: string): CodeFlow => {
  const derive = (purpose: string): string => hash('sha256', `${purpose} ${secret}`, 'base64url')
  const verifier = derive('verifier')
  return {
    secret,
    state: derive('state'),
    nonce: derive('nonce'),
    verifier,
    challenge: hash('sha256', verifier, 'base64url'),
  }
}
