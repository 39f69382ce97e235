/** `auth: { azure: … }`: the token request, renewal, failures of the identity service. */
import t, { type Test } from 'tap'
import azure from '../../plugins/azure.ts'
import { startWithTokens, tokenBody } from '../helpers/gateway/token-endpoint.ts'

const SECRET = 'the~secret/of the app'
const start = (
  t: Test,
  answer: Parameters<typeof startWithTokens>[3],
  more: Readonly<Record<string, string>> = {},
) => {
  const application = { tenant: 'contoso', client: 'app', secret: SECRET, ...more }
  const authOf = (authority: string) => ({ azure: { ...application, authority } })
  return startWithTokens(t, { azure }, authOf, answer)
}

t.test('azure: client credentials get a token of the tenant', async t => {
  const { call, tokenRequests, credentials } = await start(t, () => ({ body: tokenBody('a1') }))
  t.equal((await call()).status, 200)
  t.equal((await call()).status, 200)
  t.same(credentials, ['Bearer a1', 'Bearer a1'])
  t.equal(tokenRequests.length, 1)
  t.equal(tokenRequests[0]?.url, '/contoso/oauth2/v2.0/token')
  t.same(Object.fromEntries(new URLSearchParams(tokenRequests[0]?.body)), {
    grant_type: 'client_credentials',
    client_id: 'app',
    client_secret: SECRET,
    scope: 'https://cognitiveservices.azure.com/.default',
  })
})

t.test('azure: another scope', async t => {
  const scope = 'https://ml.azure.com/.default'
  const { call, tokenRequests } = await start(t, () => ({ body: tokenBody('a1') }), { scope })
  await call()
  t.equal(new URLSearchParams(tokenRequests[0]?.body).get('scope'), scope)
})

/** From here on the monotonic clock shows `ms` more. Resolves when the timer that watches requests,
 *  every 50 ms, has read it. */
const advanceClock = (t: Test, ms: number): Promise<void> => {
  const { now } = performance
  performance.now = () => now.call(performance) + ms
  t.teardown(() => {
    performance.now = now
  })
  return new Promise(resolve => setTimeout(resolve, 120))
}
t.test('azure: a token near its end is renewed while calls go on with it', async t => {
  const release = Promise.withResolvers<void>()
  const { call, tokenRequests, credentials } = await start(t, async count => {
    if (count === 1) return { body: tokenBody('a1') }
    await release.promise
    return { body: tokenBody('a2') }
  })
  await call()
  await advanceClock(t, 56 * 60_000)
  await Promise.all(Array.from({ length: 20 }, () => call()))
  while (tokenRequests.length < 2) await call()
  t.ok(credentials.length >= 21)
  t.ok(credentials.every(each => each === 'Bearer a1'))
  release.resolve()
  while (credentials.at(-1) !== 'Bearer a2') await call()
  t.equal(tokenRequests.length, 2)
})

t.test('azure: while its service is down, a token is used until it ends', async t => {
  const { call, tokenRequests, credentials, lines } = await start(t, count =>
    count === 1 ? { body: tokenBody('a1') } : { status: 500, body: '' },
  )
  await call()
  await advanceClock(t, 56 * 60_000)
  t.equal((await call()).status, 200)
  while (lines.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
  t.match(lines, [{ fields: { upstream: 'up' }, text: /could not be renewed yet/ }])
  t.equal((await call()).status, 200)
  t.equal(tokenRequests.length, 2, 'no request in the pause')
  t.same(new Set(credentials), new Set(['Bearer a1']))
  await advanceClock(t, 4 * 60_000)
  t.equal((await call()).status, 502)
})

t.test(
  'azure: a wrong secret is 502 for the client and a reason in the log, without the secret',
  async t => {
    const { call, lines, credentials } = await start(t, () => ({
      status: 401,
      body: JSON.stringify({
        error: 'invalid_client',
        error_description: `AADSTS7000215: Invalid client secret ${SECRET} provided.`,
      }),
    }))
    t.equal((await call()).status, 502)
    t.same(credentials, [])
    const text = JSON.stringify(lines)
    t.match(
      text,
      /answered 401: invalid_client: AADSTS7000215: Invalid client secret \*\*\* provided/,
    )
    t.notOk(text.includes(SECRET))
  },
)

t.test('azure: broken answers of the identity service are 502', async t => {
  const answers = ['no JSON', '[]', '{}', '{"access_token":5}', '{"access_token":""}']
  for (const body of answers) {
    const { call, lines } = await start(t, () => ({ body }))
    t.equal((await call()).status, 502, body)
    t.match(JSON.stringify(lines), /answered 200: it contains no access_token/)
  }
  const { call, lines } = await start(t, () => ({ body: tokenBody('a'.repeat(2_000_000)) }))
  t.equal((await call()).status, 502, 'longer than the limit')
  t.match(JSON.stringify(lines), /no access token/)
})

t.test(
  'azure: an identity service that is down is 502, and calls go on once it is back',
  async t => {
    let isDown = true
    const { call, credentials } = await start(t, () =>
      isDown ? { status: 503, body: '' } : { body: tokenBody('a1') },
    )
    t.equal((await call()).status, 502)
    isDown = false
    while ((await call()).status !== 200) await new Promise(resolve => setTimeout(resolve, 50))
    t.equal(credentials.at(-1), 'Bearer a1')
  },
)

t.test('azure: a token that the upstream refuses is renewed, and the call sent again', async t => {
  const gateway = await start(t, count => ({ body: tokenBody(`a${count}`) }))
  const { call, tokenRequests, credentials, refusedTokens } = gateway
  t.equal((await call()).status, 200)
  refusedTokens.add('Bearer a1')
  t.equal((await call()).status, 200)
  t.same(credentials, ['Bearer a1', 'Bearer a1', 'Bearer a2'])
  refusedTokens.add('Bearer a2')
  for (let calls = 0; calls < 3; calls++) {
    const { status, text } = await call()
    t.equal(status, 502, 'the refusal itself stays inside')
    t.match(text, 'UPSTREAM_KEY_REFUSED')
  }
  t.equal(tokenRequests.length, 2, 'a second one is not requested at once')
  t.equal((await call('/v2/x')).status, 200, 'the next target answers')
})
