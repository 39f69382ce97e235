/** Signs events: Standard Webhooks headers, and a simpler header for older receivers. */
import { createHmac, randomBytes } from 'node:crypto'
import type { Headers } from '../../engine/plugin.ts'

const PREFIX = 'whsec_'
const SECRET = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const BYTES = { min: 24, default: 32, max: 64 } as const

export const makeSecret = (): string => PREFIX + randomBytes(BYTES.default).toString('base64')
/** Base64 of 24 to 64 bytes behind `whsec_`. */
export const isSecret = (text: string): boolean => {
  const { length } = keyOf(text)
  return SECRET.test(text) && length >= BYTES.min && length <= BYTES.max
}
/** Masks a secret; its last four characters identify it. */
export const maskSecret = (secret: string): string => `${PREFIX}…${secret.slice(-4)}`

export interface SignatureInput {
  readonly id: string
  readonly body: string
  readonly secret: string
  /** The time of the attempt, ms since 1970. */
  readonly at: number
}
export const signatureHeaders = ({ id, body, secret, at }: SignatureInput): Headers => {
  const timestamp = String(Math.floor(at / 1_000))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${hmac(keyOf(secret), `${id}.${timestamp}.${body}`, 'base64')}`,
    // Older receivers use the secret text as the key, without decoding it.
    'x-webhook-signature': hmac(secret, body, 'hex'),
  }
}

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64')
const hmac = (key: string | Buffer, text: string, encoding: 'base64' | 'hex'): string =>
  createHmac('sha256', key).update(text).digest(encoding)
