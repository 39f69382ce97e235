/** Reads the callback URL of a create, checks it, and encrypts the key that will sign. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { routeCredentialReader } from '../credentials/credential-extraction.ts'
import { admitAddress } from '../webhooks/address.ts'
import { encryptKey, SECRET_NAME } from './callback-key.ts'
import { CALLBACK_SCHEMES } from './callbacks.ts'
import { type TaskDialectName, taskDialects } from './dialects/index.ts'
import type { Callback, Fields } from './task.ts'

interface CallbackRequest {
  readonly callback: Callback
  /** The credential of the create. */
  readonly key: string
}
export type CallbackReader = (
  exchange: Exchange,
  body: Fields,
) => Promise<CallbackRequest | undefined>

/** Rejects with a fault of the dialect if the URL cannot be used. */
export const callbackReaderOf = (host: Host, name: TaskDialectName): CallbackReader => {
  const { callback } = taskDialects[name]
  if (!callback) return async () => undefined
  const readCredential = routeCredentialReader(host)
  return async (exchange, body) => {
    const text = body[callback.member] ?? ''
    if (text === '') return undefined
    if (typeof text !== 'string') throw callback.fault('it must be a text')
    const key = readCredential(exchange)
    if (!key) throw callback.fault('a callback is signed with an API key')
    const url = await admitAddress(text, host, CALLBACK_SCHEMES).catch(error => {
      throw callback.fault((error as Error).message)
    })
    return { callback: { url, dialect: name }, key }
  }
}

/** The column `callback_key` of a task. */
export const encryptedKeyOf = async (
  { secret }: Pick<Host, 'secret'>,
  task: string,
  key: string,
): Promise<string> => encryptKey(await secret(SECRET_NAME), task, key)
