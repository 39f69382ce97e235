/** `auth: { google: … }`: assertions that an endpoint verifies, the metadata server, failures. */
import { createVerify, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { ProblemsError } from '../../engine/config/problem.ts'
import google, { parseAccount } from '../../plugins/google.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { startWithTokens, tokenBody } from '../helpers/gateway/token-endpoint.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const accountOf = (endpoint: string): string =>
  JSON.stringify({
    type: 'service_account',
    client_email: 'gate@project.iam.gserviceaccount.com',
    private_key: PEM,
    private_key_id: 'k1',
    token_uri: `${endpoint}/token`,
  })
/** The claims of an assertion; throws unless this account signed it. */
const verify = (body: string) => {
  const form = new URLSearchParams(body)
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  const isSigned = createVerify('RSA-SHA256')
    .update(`${head}.${claims}`)
    .verify(publicKey, signature, 'base64url')
  if (!isSigned) throw new Error('the signature is wrong')
  const parse = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())
  return { grant: form.get('grant_type'), head: parse(head), claims: parse(claims) }
}

t.test('google: a service account gets its token with a signed assertion', async t => {
  const before = Math.floor(Date.now() / 1_000)
  const issue = () => ({ body: tokenBody('t1') })
  const { call, tokenRequests, credentials } = await startWithTokens(
    t,
    { google },
    endpoint => ({ google: accountOf(endpoint) }),
    issue,
  )
  t.equal((await call()).status, 200)
  t.equal((await call()).status, 200)
  t.same(credentials, ['Bearer t1', 'Bearer t1'])
  t.equal(tokenRequests.length, 1)
  const [{ url, headers, body }] = tokenRequests as [(typeof tokenRequests)[0]]
  t.equal(url, '/token')
  t.match(headers, { 'content-type': 'application/x-www-form-urlencoded' })
  const { grant, head, claims } = verify(body)
  t.equal(grant, 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  t.same(head, { alg: 'RS256', typ: 'JWT', kid: 'k1' })
  t.match(claims, {
    iss: 'gate@project.iam.gserviceaccount.com',
    aud: `http://${headers.host}/token`,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
  })
  const { iat, exp } = claims as { iat: number; exp: number }
  t.ok(iat >= before && iat <= Date.now() / 1_000)
  t.equal(exp, iat + 3_600)
})

t.test('google: 50 concurrent calls share one token request', async t => {
  const issue = () => ({ body: tokenBody('t1') })
  const { call, tokenRequests } = await startWithTokens(
    t,
    { google },
    endpoint => ({ google: accountOf(endpoint) }),
    issue,
  )
  const all = await Promise.all(Array.from({ length: 50 }, () => call()))
  t.ok(all.every(({ status }) => status === 200))
  t.equal(tokenRequests.length, 1)
})

t.test('google: a reload keeps the token, another account gets its own', async t => {
  const issue = (count: number) => ({ body: tokenBody(`t${count}`) })
  let endpointOf = ''
  const { call, reload, credentials } = await startWithTokens(
    t,
    { google },
    endpoint => {
      endpointOf = endpoint
      return { google: accountOf(endpoint) }
    },
    issue,
  )
  await call()
  await reload()
  await call()
  await reload({ google: accountOf(`${endpointOf}/other`) })
  await call()
  t.same(credentials, ['Bearer t1', 'Bearer t1', 'Bearer t2'])
})

t.test(
  'google: without a token the client gets 502, another target is tried, and the log has no secret',
  async t => {
    let assertion = ''
    const { call, tokenRequests, credentials, lines } = await startWithTokens(
      t,
      { google },
      endpoint => ({ google: accountOf(endpoint) }),
      () => {
        assertion = new URLSearchParams(tokenRequests.at(-1)?.body).get('assertion') ?? ''
        const error_description = `Invalid JWT: ${assertion}`
        return { status: 400, body: JSON.stringify({ error: 'invalid_grant', error_description }) }
      },
    )
    const refused = await call()
    t.equal(refused.status, 502)
    t.match(refused.text, /The credential for the upstream up cannot be renewed at present/)
    t.notMatch(refused.text, /invalid_grant|JWT/)
    t.same(credentials, [], 'nothing was sent')
    const reports = lines.filter(({ text }) => text?.includes('no access token'))
    t.match(reports, [
      { fields: { upstream: 'up', reason: /answered 400: invalid_grant: Invalid JWT/ } },
    ])
    t.ok(assertion.length > 100)
    t.notOk(JSON.stringify(lines).includes(assertion))
    t.equal((await call('/v2/x')).status, 200)
    t.same(credentials, [undefined], 'the other target')
  },
)

t.test('google: the metadata server is asked as the Google libraries ask it', async t => {
  const { call, tokenRequests, credentials } = await startWithTokens(
    t,
    { google },
    endpoint => {
      process.env.GCE_METADATA_HOST = endpoint.slice('http://'.length)
      t.teardown(() => delete process.env.GCE_METADATA_HOST)
      return { google: 'metadata' }
    },
    () => ({ body: tokenBody('m1') }),
  )
  t.equal((await call()).status, 200)
  t.same(credentials, ['Bearer m1'])
  t.match(tokenRequests, [
    {
      url: '/computeMetadata/v1/instance/service-accounts/default/token',
      headers: { 'metadata-flavor': 'Google' },
    },
  ])
})

t.test('google: a key file that cannot be used is a problem with its place', async t => {
  const account = JSON.parse(accountOf('https://oauth2.googleapis.com'))
  const files: readonly (readonly [text: string, message: RegExp])[] = [
    ['nonsense', /the text is not JSON/],
    [JSON.stringify({ ...account, type: 'authorized_user' }), /not a key of a service account/],
    [JSON.stringify({ ...account, private_key: 'pem' }), /not an RSA key in PEM format/],
    [JSON.stringify({ ...account, token_uri: 'file:///x' }), /not an http\(s\) URL/],
  ]
  for (const [text, message] of files) t.throws(() => parseAccount(text), { message })
  t.match(parseAccount(JSON.stringify({ ...account, token_uri: undefined })), {
    tokenAddress: 'https://oauth2.googleapis.com/token',
  })
  const routes = `pipeline: [form]
upstreams:
  up:
    url: https://aiplatform.googleapis.com
    auth: { google: '\${file:account.json}' }
routes:
  - { path: GET /x, upstream: up }
`
  const files1 = { 'account.json': JSON.stringify({ ...account, private_key: 'the-private-key' }) }
  const error = await startGateway({ inside: true, routes, files: files1 }).catch(cause => cause)
  t.type(error, ProblemsError)
  t.match(error.message, /routes\.yaml:\d+:21 {2}GOOGLE_ACCOUNT {2}.*not an RSA key in PEM format/)
  t.notMatch(error.message, /the-private-key/)
})
