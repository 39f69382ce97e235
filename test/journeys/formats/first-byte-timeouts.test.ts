/** First-byte timeouts per upstream: a slow model gets a longer timeout than another at the same
 *  address. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { bearer, postTo } from '../../helpers/gateway/post.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const upstream = await startUpstream()
const url = `${upstream.url}/s/gp/v1`
const gateway = await startGateway({
  routes: `
pipeline: [errors, auth, model, translate]
upstreams:
  gp: { url: '${url}', timeout: { first_byte: ${scaled(500)}ms } }
  gp-slow: { url: '${url}', timeout: { first_byte: 60s } }
models: { quick: { to: gp/there, free: true }, slow: { to: gp-slow/there, free: true } }
routes:
  - { path: 'POST /v1/responses', auth: key, model: body, translate: openai-responses, errors: openai }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))
const key = await gateway.key()
const ask = (model: string) =>
  postTo(`${gateway.url}/v1/responses`, { model, input: 'hi' }, bearer(key))

t.test('first-byte timeout: set per upstream, also at the same address', async t => {
  const answer = { id: 'r', object: 'response', status: 'completed', output: [] }
  await upstream.script('gp', [{ do: 'body' }, { do: 'gate', name: 'answer' }, plain(answer)])
  const waiting = ask('slow')
  const quick = await ask('quick')
  t.equal(quick.status, 504)
  t.match(await quick.json(), { error: { code: 'upstream_timeout' } })
  await upstream.open('answer')
  const slow = await waiting
  t.equal(slow.status, 200)
  t.same(await slow.json(), answer)
})
