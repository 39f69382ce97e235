/** A failing target is ejected and probed by one request later; never are all targets ejected. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { startUpstream } from '../../helpers/gateway/upstream.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { LONG } from '../../helpers/run-settings.ts'

/** Longer than the calls between an ejection and its end take. */
const EJECT = Math.max(3_000, scaled(1_000))
const upstream = await startUpstream()
const ports = await Promise.all(['a', 'b', 'c'].map(name => upstream.listen(name)))
const gateway = await startGateway({
  inside: true,
  routes: `
pipeline: [errors]
upstreams:
  three: { url: [${ports.map(port => `'http://127.0.0.1:${port}'`).join(', ')}], health: { failures: 3, eject: ${EJECT}ms } }
routes:
  - { path: 'GET /s/{name}', upstream: three, balance: round-robin, retries: 0 }
  - { path: 'GET|POST /any/{name}', rewrite: '/s/{name}', upstream: three, balance: round-robin, retries: 2 }
`,
})
t.teardown(() => Promise.all([gateway.stop(), upstream.stop()]))

const healthy = [plain({ ok: true })]
const failing = [plain({ ok: false }, '503 Service Unavailable')]
const ask = async (route = 's', method = 'GET'): Promise<number> => {
  const response = await fetch(`${gateway.url}/${route}/work`, { method })
  await response.arrayBuffer()
  return response.status
}
const askAll = async (count: number, route = 's', method = 'GET'): Promise<number[]> => {
  const list: number[] = []
  for (let n = 0; n < count; n++) list.push(await ask(route, method))
  return list
}
const requestsAt = async (listener: string): Promise<number> =>
  (await upstream.events('request', 'work')).filter(event => event.listener === listener).length
/** Sends requests until each of these listeners got one. */
const untilRequested = async (...listeners: readonly string[]): Promise<void> => {
  for (const listener of listeners)
    while ((await requestsAt(listener)) === 0) {
      await ask()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
}

t.test('ejection: one of three targets fails', async t => {
  await upstream.script('a:work', failing)
  for (const name of ['b:work', 'c:work']) await upstream.script(name, healthy)
  // Few more requests than three failures take: a slow run must not reach the probe.
  await askAll(12)
  t.equal(await requestsAt('a'), 3, 'three requests until the ejection')
  t.equal((await requestsAt('b')) + (await requestsAt('c')) >= 9, true, 'the others take over')

  await upstream.forget()
  t.strictSame(new Set(await askAll(6)), new Set([200]), 'no client reaches it during the ejection')
  t.equal(await requestsAt('a'), 0)

  await untilRequested('a')
  await askAll(6)
  t.equal(await requestsAt('a'), 1, 'one probe, then it is ejected again')
})

t.test('ejection: a recovered target returns', async t => {
  await upstream.script('a:work', healthy)
  await upstream.forget()
  await untilRequested('a')
  await upstream.forget()
  t.strictSame(new Set(await askAll(30)), new Set([200]))
  t.equal(await requestsAt('a'), 10, 'it gets a third of the requests')
})

t.test(
  'ejection: if all targets fail they are still tried, and the first that recovers serves',
  async t => {
    for (const name of ['a:work', 'b:work', 'c:work']) await upstream.script(name, failing)
    await upstream.forget()
    const list = await askAll(40)
    t.strictSame(new Set(list), new Set([503]), 'the response of the upstream, not of the gateway')
    t.ok(
      (await upstream.events('request', 'work')).length >= 40,
      'each request was tried somewhere',
    )
    for (const name of ['a:work', 'b:work', 'c:work']) await upstream.script(name, healthy)
    t.equal(await ask(), 200)
  },
)

t.test(
  'ejection: an unreachable target gets no requests and returns after a successful probe',
  async t => {
    for (const name of ['a:work', 'b:work', 'c:work']) await upstream.script(name, healthy)
    await untilRequested('a', 'b', 'c')
    await askAll(12) // ends any earlier ejection
    await upstream.shut('a')
    await upstream.forget()
    // A connection that could not be opened carried no bytes, so the request goes to another
    // target, whatever its method.
    const statuses = await askAll(40, 'any', 'POST')
    t.strictSame(new Set(statuses), new Set([200]), 'every client gets a response')
    t.equal((await requestsAt('b')) + (await requestsAt('c')), 40, 'each request ran once')
    await upstream.listen('a', { port: ports[0] ?? 0 })
    await upstream.script('a:work', healthy)
    await upstream.forget()
    const since = performance.now()
    await untilRequested('a')
    t.comment(`back after ${Math.round(performance.now() - since)} ms of ${2 * EJECT}`)
    if (LONG) t.ok(performance.now() - since <= 2 * EJECT)
  },
)

t.test('ejection: a client abort does not count against the target', async t => {
  await upstream.forget()
  await untilRequested('a', 'b', 'c')
  await upstream.script('slow', [{ do: 'stall' }])
  for (let n = 0; n < 30; n++) {
    await upstream.forget()
    const stop = new AbortController()
    const abortedCall = fetch(`${gateway.url}/s/slow`, { signal: stop.signal }).catch(() => {})
    await upstream.until('request', event => event.script === 'slow')
    stop.abort()
    await abortedCall
  }
  await upstream.forget()
  await askAll(30)
  t.strictSame(await Promise.all(['a', 'b', 'c'].map(requestsAt)), [10, 10, 10])
})
