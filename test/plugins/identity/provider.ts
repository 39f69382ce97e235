/** An OpenID provider on the loopback interface, which can be stopped and started with other keys,
 *  and tokens that it did not sign. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Test } from 'tap'

export const AUDIENCE = 'https://gateway.test'
export interface SigningKeys {
  readonly rsa: KeyObject
  readonly jwks: { readonly keys: readonly object[] }
}
/** A key pair of each algorithm; their ids begin with the prefix. */
export const makeKeys = (prefix: string): SigningKeys => {
  const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { privateKey: ed } = generateKeyPairSync('ed25519')
  const keys = Object.entries({ rsa, ec, ed }).map(([kind, key]) => ({
    ...key.export({ format: 'jwk' }),
    kid: `${prefix}-${kind}`,
    use: 'sig',
  }))
  return { rsa, jwks: { keys } }
}

export interface OpenProvider {
  readonly issuer: string
  /** Requests for the document with the keys. */
  readonly keyRequests: () => number
  /** `listen`: of another provider than that of robots. */
  start(keys: SigningKeys, listen?: (issuer: string) => RequestListener): Promise<void>
  stop(): Promise<void>
  /** An access token that the provider issues at its token endpoint. */
  token(options?: {
    readonly audience?: string
    readonly alg?: string
    readonly claims?: object
  }): Promise<string>
}
/** Not started yet: its port is reserved. `host`: of its address, which listens on 127.0.0.1. */
export const openProvider = async (
  t: Pick<Test, 'teardown'>,
  host = '127.0.0.1',
): Promise<OpenProvider> => {
  let listener: RequestListener = (_, response) => void response.writeHead(503).end()
  let server: Server | undefined
  let keyRequests = 0
  const listen = async (port: number) => {
    server = createServer((request, response) => {
      if (request.url?.endsWith('/jwks')) keyRequests++
      // A client that keeps connections would find them closed after a restart.
      response.setHeader('connection', 'close')
      listener(request, response)
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const stop = async () => {
    server?.closeAllConnections()
    if (server?.listening) await once(server.close(), 'close')
  }
  const port = await listen(0)
  const issuer = `http://${host}:${port}`
  await stop()
  t.teardown(stop)
  return {
    issuer,
    keyRequests: () => keyRequests,
    stop,
    async start(keys, create = () => new Provider(issuer, configurationOf(keys)).callback()) {
      listener = create(issuer)
      await listen(port)
    },
    async token({ audience = AUDIENCE, alg = 'RS256', claims = {} } = {}) {
      const resource = `urn:${encodeURIComponent(JSON.stringify({ audience, alg, claims }))}`
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('robot:secret')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
      })
      const body = (await response.json()) as { access_token?: string }
      if (!body.access_token) throw new Error(JSON.stringify(body))
      return body.access_token
    },
  }
}

const askedFor = (resource: string) =>
  JSON.parse(decodeURIComponent(resource.slice('urn:'.length))) as {
    audience: string
    alg: string
    claims: object
  }
const configurationOf = ({ jwks }: SigningKeys) => ({
  jwks,
  clients: [
    {
      client_id: 'robot',
      client_secret: 'secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  extraTokenClaims: (_: unknown, token: { resourceServer?: { identifier(): string } }) =>
    askedFor(token.resourceServer?.identifier() ?? '').claims,
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_: unknown, resource: string) => {
        const { audience, alg } = askedFor(resource)
        return { scope: '', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg } } }
      },
    },
  },
})

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** A token of one's own. `signer`: a key for RS256, a text for HS256, or undefined for none. */
export const forge = (
  claims: object,
  signer: KeyObject | string | undefined,
  header: object = {},
): string => {
  const alg = signer === undefined ? 'none' : typeof signer === 'string' ? 'HS256' : 'RS256'
  const signed = `${base64({ alg, ...header })}.${base64(claims)}`
  if (signer === undefined) return `${signed}.`
  const signature =
    typeof signer === 'string'
      ? createHmac('sha256', signer).update(signed).digest('base64url')
      : sign('sha256', Buffer.from(signed), signer).toString('base64url')
  return `${signed}.${signature}`
}
