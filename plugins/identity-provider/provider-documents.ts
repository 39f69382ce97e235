/** Reads documents of the identity provider: its discovery document, and others that it names. */
import { isFields } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'

/** ms until a response of the provider has arrived. */
export const TIMEOUT = 5_000
type Fields = Readonly<Record<string, unknown>>
type Requests = Pick<HostBase, 'request'>

/** Rejects unless the response is JSON of status 200. */
export const getJson = async (
  { request }: Requests,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> => {
  const { status, text } = await request(address, {
    method: 'GET',
    headers: { accept: 'application/json', ...headers },
    timeout: TIMEOUT,
  })
  if (status !== 200) throw new Error(`${address} returned status ${status}`)
  return JSON.parse(text)
}
/** Rejects if the provider does not answer, or says that it is another one. */
export const readDiscovery = async (host: Requests, issuer: string): Promise<Fields> => {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await getJson(host, address)
  if (isFields(document) && document.issuer === issuer) return document
  throw new Error(`${address} names another issuer; correct "issuer" of the section identity`)
}
