/** `auth: { aws: … }`: published vectors, and an upstream that computes each signature again. */
import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import type { SignableRequest } from '../../engine/plugin.ts'
import { type AwsOptions, signForAws } from '../../plugins/aws.ts'
import { expectedAuthorization, ID, SECRET } from '../helpers/gateway/aws-signature.ts'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../helpers/gateway/test-server.ts'

const VECTORS: AwsOptions = { region: 'us-east-1', service: 'service', id: ID, secret: SECRET }
const DATE = '20150830T123600Z'
const NAMES = 'host;x-amz-date'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const signable = (
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): SignableRequest => ({
  method,
  url: new URL(`https://example.amazonaws.com${path}`),
  headers: { ...headers },
  body: body === '' ? undefined : Buffer.from(body),
  isStreamed: false,
})
/** The AWS Signature Version 4 test suite. */
const SUITE: readonly (readonly [
  name: string,
  request: SignableRequest,
  names: string,
  signature: string,
])[] = [
  [
    'get-vanilla',
    signable('GET', '/'),
    NAMES,
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  [
    'get-vanilla-query-order-key-case',
    signable('GET', '/?Param2=value2&Param1=value1'),
    NAMES,
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-empty-query-key',
    signable('GET', '/?Param1=value1'),
    NAMES,
    'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  ],
  [
    'post-vanilla',
    signable('POST', '/'),
    NAMES,
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  [
    'post-x-www-form-urlencoded',
    signable('POST', '/', FORM, 'Param1=value1'),
    'content-type;host;x-amz-date',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
]
for (const [name, request, names, signature] of SUITE)
  t.test(`aws: published vector ${name}`, async t => {
    await signForAws(request, VECTORS, new Map(), DATE)
    t.equal(
      request.headers.authorization,
      `AWS4-HMAC-SHA256 Credential=${ID}/20150830/us-east-1/service/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
    )
    t.equal(request.headers['x-amz-date'], DATE)
  })

/** A gateway before an upstream that answers 403 to a wrong signature. */
const arrange = async (t: Test, more = '') => {
  const requests: IncomingMessage['headers'][] = []
  const url = await startHttpUpstream(t, async (incoming, response) => {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    requests.push(incoming.headers)
    const { authorization } = incoming.headers
    const isValid = authorization === expectedAuthorization(incoming, Buffer.concat(parts))
    response.writeHead(isValid ? 200 : 403).end('{}')
  })
  const gateway = await startGateway({
    inside: true,
    routes: `pipeline: [form]
upstreams:
  up:
    url: ${url}/base
    auth: { aws: { region: eu-west-1, service: bedrock, id: ${ID}, secret: ${SECRET}${more} } }
    headers: { set: { x-own: a, authorization: none } }
routes:
  - { path: 'GET|POST /model/{id}/{method}', upstream: up }
`,
  })
  t.teardown(() => gateway.stop())
  return { requests, gateway }
}

t.test('aws: an upstream that computes the signature again accepts requests', async t => {
  const { requests, gateway } = await arrange(t)
  const post = (path: string, init: RequestInit = {}) =>
    fetch(gateway.url + path, {
      method: 'POST',
      body: '{"a":"\u00e9"}',
      headers: { 'content-type': 'application/json' },
      ...init,
    })
  for (const path of ['/model/m/x', '/model/a.b-v2:0/x?b=2&a=1%20*&a=', '/model/a%3Ab%20c/x'])
    t.equal((await post(path)).status, 200, path)
  t.equal((await fetch(`${gateway.url}/model/m/x`)).status, 200, 'without a body')
  const all = await Promise.all(Array.from({ length: 20 }, () => post('/model/m/x')))
  t.ok(all.every(({ status }) => status === 200))
  t.match(requests[0]?.authorization, /SignedHeaders=content-type;host;x-amz-date,/)
})

t.test('aws: a streamed body is sent unsigned, and says so', async t => {
  const { requests, gateway } = await arrange(t)
  const body = new Blob(['x'.repeat(200_000)]).stream()
  const init = { method: 'POST', body, duplex: 'half' } as const
  t.equal((await fetch(`${gateway.url}/model/m/x`, init)).status, 200)
  t.equal(requests[0]?.['x-amz-content-sha256'], 'UNSIGNED-PAYLOAD')
})

t.test('aws: the session token of temporary credentials is sent and signed', async t => {
  const { requests, gateway } = await arrange(t, ', session: the/session+token==')
  t.equal((await fetch(`${gateway.url}/model/m/x`)).status, 200)
  t.equal(requests[0]?.['x-amz-security-token'], 'the/session+token==')
  t.match(requests[0]?.authorization, /host;x-amz-date;x-amz-security-token,/)
})

t.test('aws: signs the host that the operator sets', async t => {
  const request = signable('GET', '/', { host: 'private.example' })
  await signForAws(request, VECTORS, new Map(), DATE)
  const direct = { ...signable('GET', '/'), url: new URL('https://private.example/') }
  await signForAws(direct, VECTORS, new Map(), DATE)
  t.equal(request.headers.authorization, direct.headers.authorization)
})
