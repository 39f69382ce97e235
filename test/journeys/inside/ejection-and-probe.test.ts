/** A failing target is ejected and probed by one request later; never are all targets ejected. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { LONG } from '../../helpers/long.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const EJECT = 1_000
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

const well = [plain({ ok: true })]
const ill = [plain({ ok: false }, '503 Service Unavailable')]
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
const asked = async (listener: string): Promise<number> =>
  (await upstream.seen('request', 'work')).filter(seen => seen.listener === listener).length
/** Asks until each of these was asked. */
const untilAsked = async (...listeners: readonly string[]): Promise<void> => {
  for (const listener of listeners)
    while ((await asked(listener)) === 0) {
      await ask()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
}

t.test('ejection: one of three targets fails', async t => {
  await upstream.script('a:work', ill)
  for (const name of ['b:work', 'c:work']) await upstream.script(name, well)
  // Few more than it takes to fail three times: whoever is slow finds it back.
  await askAll(12)
  t.equal(await asked('a'), 3, 'asked until it has failed three times')
  t.equal((await asked('b')) + (await asked('c')) >= 9, true, 'the others take over')

  await upstream.forget()
  t.strictSame(
    new Set(await askAll(6)),
    new Set([200]),
    'no client meets it while it is left alone',
  )
  t.equal(await asked('a'), 0)

  await untilAsked('a')
  await askAll(6)
  t.equal(await asked('a'), 1, 'one probe, and it is left alone again')
})

t.test('ejection: a recovered target returns', async t => {
  await upstream.script('a:work', well)
  await upstream.forget()
  await untilAsked('a')
  await upstream.forget()
  t.strictSame(new Set(await askAll(30)), new Set([200]))
  t.equal(await asked('a'), 10, 'and has its share')
})

t.test(
  'ejection: if all targets fail they are still tried, and the first that recovers serves',
  async t => {
    for (const name of ['a:work', 'b:work', 'c:work']) await upstream.script(name, ill)
    await upstream.forget()
    const list = await askAll(40)
    t.strictSame(new Set(list), new Set([503]), 'the upstream’s own refusal, not one of ours')
    t.ok((await upstream.seen('request', 'work')).length >= 40, 'each request was tried somewhere')
    for (const name of ['a:work', 'b:work', 'c:work']) await upstream.script(name, well)
    t.equal(await ask(), 200)
  },
)

t.test('ejection: a dead target gets no requests and returns after a successful probe', async t => {
  for (const name of ['a:work', 'b:work', 'c:work']) await upstream.script(name, well)
  await untilAsked('a', 'b', 'c')
  await askAll(12) // whoever was left alone is back
  await upstream.shut('a')
  await upstream.forget()
  // Nothing was sent on a connection that could not be opened: such a request goes elsewhere, whatever its method.
  const statuses = await askAll(40, 'any', 'POST')
  t.strictSame(new Set(statuses), new Set([200]), 'no client notices')
  t.equal((await asked('b')) + (await asked('c')), 40, 'each was done once')
  await upstream.listen('a', { port: ports[0] ?? 0 })
  await upstream.script('a:work', well)
  await upstream.forget()
  const since = performance.now()
  await untilAsked('a')
  t.comment(`back after ${Math.round(performance.now() - since)} ms of ${2 * EJECT}`)
  if (LONG) t.ok(performance.now() - since <= 2 * EJECT)
})

t.test('ejection: a client abort does not count against the target', async t => {
  await upstream.forget()
  await untilAsked('a', 'b', 'c')
  await upstream.script('slow', [{ do: 'stall' }])
  for (let n = 0; n < 30; n++) {
    await upstream.forget()
    const stop = new AbortController()
    const left = fetch(`${gateway.url}/s/slow`, { signal: stop.signal }).catch(() => {})
    await upstream.until('request', seen => seen.script === 'slow')
    stop.abort()
    await left
  }
  await upstream.forget()
  await askAll(30)
  t.strictSame(await Promise.all(['a', 'b', 'c'].map(asked)), [10, 10, 10])
})
