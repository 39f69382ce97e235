/** A client of a chaos run whose key has a quota and is rotated again and again: it calls with all
 *  of its secrets, which must not spend more than the quota together. */
import type { OpenDatabase } from '../../../engine/store/database.ts'
import { makeSecret } from '../../../plugins/credentials/secret.ts'
import { addKey, addToken } from '../../../plugins/credentials/statements.ts'
import { sql } from '../../helpers/store/store.ts'

/** Quota units; a call costs 2,500. */
const QUOTA = 100_000
const NANOS_PER_UNIT = 2_000
const CALLS_PER_ROTATION = 6
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** The route that rotations need. */
export const ROTATION_ROUTE = `
  - { path: 'POST /api/keys/{id}/rotate', auth: system-token, account: rotate-key, errors: envelope }`

export interface RotatingKey {
  readonly id: number
  readonly secret: string
  /** A system token of its account. */
  readonly token: string
}
export const createRotatingKey = async (
  database: OpenDatabase,
  account: number,
): Promise<RotatingKey> => {
  const [secret, token] = [makeSecret('key'), makeSecret('system-token')]
  const now = Date.now()
  await database.write(addToken({ account, name: 'rotation', secret: token }, now))
  const quota = { total: QUOTA, period: null }
  const rows = await database.write(addKey({ account, name: 'rotated', secret, quota }, now))
  return { id: Number(rows.at(-1)?.[0]?.id), secret: secret.text, token: token.text }
}

const post = async (url: string, credential: string, body: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const CALL = {
  model: 'chat',
  messages: [{ role: 'user', content: 'Hello' }],
  max_tokens: 20,
}

/** Calls and rotates until `isOver`. Resolves to the number of secrets that the key has had. */
export const callAndRotate = async (
  url: () => string,
  { id, secret, token }: RotatingKey,
  isOver: () => boolean,
): Promise<number> => {
  const secrets = [secret]
  // Due at once, and until it succeeds: a short run has a rotation, too.
  let calls = CALLS_PER_ROTATION
  for (let count = 1; !isOver(); count++) {
    try {
      const used = secrets[count % secrets.length] ?? secret
      await (await post(`${url()}/v1/chat/completions`, used, CALL)).arrayBuffer()
      if (++calls > CALLS_PER_ROTATION) {
        const reply = await post(`${url()}/api/keys/${id}/rotate`, token, { overlap: '1h' })
        const { data } = (await reply.json()) as { readonly data?: { readonly key?: string } }
        if (data?.key) {
          secrets.push(data.key)
          calls = 0
        }
      }
    } catch {
      // The gateway was killed.
    }
    await pause(20)
  }
  return secrets.length
}

/** All secrets are one key, which has spent at most its quota. */
export const quotaViolations = async (
  database: OpenDatabase,
  { id }: RotatingKey,
): Promise<readonly string[]> => {
  const text = `SELECT coalesce(sum(amount), 0) AS spent,
      (SELECT count(*) FROM api_keys WHERE name LIKE '%rotated%') AS keys
    FROM charges WHERE key = ? AND state = 'settled'`
  const [row] = await database.read(sql('spent by the rotated key', text), [id])
  const [spent, keys] = [Number(row?.spent), Number(row?.keys)]
  const violations: string[] = []
  if (spent > QUOTA * NANOS_PER_UNIT) violations.push(`the rotated key spent ${spent} nanos`)
  if (spent === 0) violations.push('the rotated key was never charged')
  if (keys !== 1) violations.push(`the rotated key has ${keys} rows`)
  return violations
}
