/** Accounts of the tests of this folder, and the requests that they send. */
import { makeSecret } from '../../../../plugins/credentials/secret.ts'
import { addKey, addToken, createAccount } from '../../../../plugins/credentials/statements.ts'
import { giveCredit } from '../../../helpers/money/credit.ts'
import { database, gateway } from '../shipped-gateway.ts'

export interface Account {
  readonly key: string
  readonly token: string
}
/** A new account with money, an API key and a system token. */
export const makeAccount = async (name: string): Promise<Account> => {
  const now = Date.now()
  const idOf = async (list: Parameters<typeof database.write>[0]) =>
    Number((await database.write(list)).at(-1)?.[0]?.id)
  const account = await idOf(createAccount({ name, role: 'customer' }, now))
  await giveCredit(database, account, 1_000n * 10n ** 9n)
  const [key, token] = [makeSecret('key'), makeSecret('system-token')]
  await database.write(addKey({ account, name: 'test', secret: key }, now))
  await database.write(addToken({ account, name: 'test', secret: token }, now))
  return { key: key.text, token: token.text }
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}
export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}
/** Routes of the account take its system token, all others its key. A body that is neither text,
 *  bytes nor a form is sent as JSON. */
export const ask = async (account: Account, request: Request): Promise<Response> => {
  const { method, path, body } = request
  const credential = path.startsWith('/api/') ? account.token : account.key
  const isGoogle = /^(?:\/upload)?\/v1beta\//.test(path)
  const isRaw = body === undefined || typeof body === 'string' || body instanceof FormData
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      ...(isGoogle ? { 'x-goog-api-key': credential } : { authorization: `Bearer ${credential}` }),
      ...(!isRaw && { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    redirect: 'manual',
  })
  const text = await response.text()
  return { status: response.status, headers: Object.fromEntries(response.headers), text }
}
