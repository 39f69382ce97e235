/** `auth: { google: … }`: access tokens of a Google service account, by its key file or from the
 *  metadata server of the machine. */
import { createPrivateKey, createSign, type KeyObject } from 'node:crypto'
import { json, text } from '../engine/config/shape.ts'
import type { AuthHost, Document, Plugin, Report } from '../engine/plugin.ts'
import { formRequest, requestToken } from './access-tokens/token-endpoint.ts'
import { createTokenSigner } from './access-tokens/token-signer.ts'
import { isFields, parseJson } from './formats/fields.ts'

const METADATA = 'metadata'
/** As Google's own libraries: another host, and port, of the metadata server. */
const METADATA_HOST = 'GCE_METADATA_HOST'
const METADATA_PATH = '/computeMetadata/v1/instance/service-accounts/default/token'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN_ADDRESS = 'https://oauth2.googleapis.com/token'
/** s for which an assertion is valid: the most that Google accepts. */
const ASSERTION_LIFETIME = 3_600

interface ServiceAccount {
  readonly email: string
  readonly key: KeyObject
  readonly keyId: string | undefined
  readonly tokenAddress: string
}

/** Parses the key file of a service account. Throws an error for people, without its content. */
export const parseAccount = (text: string): ServiceAccount => {
  const fields = parseJson(text)
  if (!isFields(fields))
    throw new Error('the text is not JSON; use the key file of a service account')
  const { type, client_email: email, private_key: key, private_key_id: id, token_uri: uri } = fields
  if (type !== 'service_account' || typeof email !== 'string' || typeof key !== 'string')
    throw new Error(
      'the file is not a key of a service account: it needs "type": "service_account", "client_email" and "private_key"',
    )
  const tokenAddress = typeof uri === 'string' ? uri : TOKEN_ADDRESS
  if (!/^https?:/.test(tokenAddress) || !URL.canParse(tokenAddress))
    throw new Error('the "token_uri" of the service account is not an http(s) URL')
  const keyId = typeof id === 'string' ? id : undefined
  return { email, key: parseKey(key), keyId, tokenAddress }
}
const parseKey = (pem: string): KeyObject => {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {}
  throw new Error('the "private_key" of the service account is not an RSA key in PEM format')
}

/** A JWT signed with RS256 (RFC 7523). `now`: s since 1970. */
const createAssertion = (account: ServiceAccount, now: number): string => {
  const { email, key, keyId, tokenAddress } = account
  const claims = {
    iss: email,
    scope: SCOPE,
    aud: tokenAddress,
    iat: now,
    exp: now + ASSERTION_LIFETIME,
  }
  const signed = [{ alg: 'RS256', typ: 'JWT', ...(keyId && { kid: keyId }) }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(key, 'base64url')}`
}

const accountSigner = (text: string, host: AuthHost) => {
  const account = parseAccount(text)
  return createTokenSigner(host, text, () => {
    const assertion = createAssertion(account, Math.floor(Date.now() / 1_000))
    const form = formRequest({ grant_type: GRANT, assertion })
    return requestToken(host.request, account.tokenAddress, form, [assertion])
  })
}
const metadataSigner = (host: AuthHost) => {
  const address = process.env[METADATA_HOST] || 'metadata.google.internal'
  const url = `http://${address}${METADATA_PATH}`
  // The server is on the machine.
  const request = { method: 'GET', headers: { 'metadata-flavor': 'Google' }, direct: true }
  return createTokenSigner(host, url, () => requestToken(host.request, url, request))
}

/** Reports key files that cannot be used. */
const check = (document: Document, report: Report): void => {
  const upstreams = isFields(document.upstreams) ? document.upstreams : {}
  for (const [name, upstream] of Object.entries(upstreams)) {
    const auth = isFields(upstream) ? upstream.auth : undefined
    const text = isFields(auth) ? auth.google : undefined
    if (typeof text !== 'string' || text === METADATA) continue
    try {
      parseAccount(text)
    } catch (error) {
      report(['upstreams', name, 'auth', 'google'], 'GOOGLE_ACCOUNT', (error as Error).message)
    }
  }
}

export default {
  schema: json('It has no options on a route.', { type: 'object', examples: [{}] }).schema,
  check,
  setup: () => ({}),
  auth: {
    schema: text(
      'Sends access tokens of a Google service account: its key file as JSON, or `metadata` for the account of the machine.',
      { minLength: 1, examples: ['${file:/run/secrets/account.json}', METADATA] },
    ).schema,
    setup: (options: string, host) =>
      options === METADATA ? metadataSigner(host) : accountSigner(options, host),
  },
} satisfies Plugin
