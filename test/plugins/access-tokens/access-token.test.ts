/** An access token: one request at a time, renewal before the end, failures. */
import t from 'tap'
import { AccessToken, type IssuedToken } from '../../../plugins/access-tokens/access-token.ts'

/** A token with a clock, and an issuer whose requests the test answers in order. */
const arrange = () => {
  const clock = { now: 1_000 }
  const requests: PromiseWithResolvers<IssuedToken>[] = []
  const failures: string[] = []
  const issuer = {
    request: () => {
      requests.push(Promise.withResolvers())
      return (requests.at(-1) as PromiseWithResolvers<IssuedToken>).promise
    },
    onFailure: (error: Error, hasToken: boolean) =>
      void failures.push(`${error.message} ${hasToken}`),
  }
  const token = new AccessToken(() => clock.now)
  const turn = () => new Promise(resolve => setImmediate(resolve))
  const issue = async (value: string, lifetime: number) => {
    requests.at(-1)?.resolve({ value, lifetime })
    await turn()
  }
  const fail = async (message: string) => {
    requests.at(-1)?.reject(new Error(message))
    await turn()
  }
  const refuse = (value: string) => token.refuse(value)
  return { clock, requests, failures, get: () => token.get(issuer), issue, fail, refuse }
}
const HOUR = 3_600_000

t.test('access token: concurrent calls share one request, later ones need none', async t => {
  const { requests, get, issue } = arrange()
  const calls = Array.from({ length: 50 }, get)
  await Promise.resolve()
  t.equal(requests.length, 1)
  await issue('one', 3_600)
  t.same(new Set(await Promise.all(calls)), new Set(['one']))
  t.equal(get(), 'one', 'without a promise')
  t.equal(requests.length, 1)
})

t.test('access token: is renewed before it ends, while it is used', async t => {
  const { clock, requests, get, issue } = arrange()
  void get()
  await Promise.resolve()
  await issue('one', 3_600)
  clock.now += HOUR - 301_000
  t.equal(get(), 'one')
  t.equal(requests.length, 1, 'not more than five minutes before')
  clock.now += 2_000
  for (let calls = 0; calls < 50; calls++) t.equal(get(), 'one')
  await Promise.resolve()
  t.equal(requests.length, 2)
  await issue('two', 60)
  t.equal(get(), 'two')
  clock.now += 47_000
  t.equal(get(), 'two')
  t.equal(requests.length, 2)
  clock.now += 2_000
  t.equal(get(), 'two')
  await Promise.resolve()
  t.equal(requests.length, 3, 'a short one in its last fifth')
})

t.test('access token: its time counts from the request, with a margin', async t => {
  const { clock, get, issue } = arrange()
  const first = get()
  await Promise.resolve()
  clock.now += 3_000
  await issue('one', 60)
  t.equal(await first, 'one')
  clock.now = 1_000 + 54_999
  t.equal(get(), 'one')
  clock.now = 1_000 + 55_000
  t.ok(get() instanceof Promise, 'five seconds before its end it is not used')
})

t.test('access token: a failed renewal leaves the token in use, and pauses', async t => {
  const { clock, requests, failures, get, issue, fail } = arrange()
  void get()
  await Promise.resolve()
  await issue('one', 100)
  clock.now += 81_000
  t.equal(get(), 'one')
  await Promise.resolve()
  await fail('down')
  t.same(failures, ['down true'])
  clock.now += 9_000
  t.equal(get(), 'one')
  t.equal(requests.length, 2, 'no request in the pause')
  clock.now += 1_000
  t.equal(get(), 'one')
  await Promise.resolve()
  t.equal(requests.length, 3)
  await issue('two', 100)
  t.equal(get(), 'two')
})

t.test(
  'access token: without a token all calls fail at once, and the next request waits a second',
  async t => {
    const { clock, requests, failures, get, issue, fail } = arrange()
    const calls = [get(), get()]
    for (const call of calls) Promise.resolve(call).catch(() => {})
    await Promise.resolve()
    await fail('down')
    for (const call of calls) await t.rejects(Promise.resolve(call), { message: 'down' })
    t.same(failures, ['down false'], 'reported once')
    clock.now += 999
    await t.rejects(Promise.resolve(get()), { message: 'down' })
    t.equal(requests.length, 1)
    clock.now += 1
    const next = get()
    await Promise.resolve()
    t.equal(requests.length, 2)
    await issue('one', 60)
    t.equal(await next, 'one')
  },
)

t.test('access token: an issuer that throws is asked again', async t => {
  const clock = { now: 0 }
  const token = new AccessToken(() => clock.now)
  let calls = 0
  const issuer = {
    request: () => {
      if (++calls === 1) throw new Error('broken')
      return Promise.resolve({ value: 'one', lifetime: 60 })
    },
    onFailure() {},
  }
  await t.rejects(Promise.resolve(token.get(issuer)), { message: 'broken' })
  clock.now = 1_000
  t.equal(await token.get(issuer), 'one')
})

t.test('access token: a refused one is renewed by the next call, once a minute', async t => {
  const { clock, requests, get, issue, refuse } = arrange()
  void get()
  await Promise.resolve()
  await issue('one', 3_600)
  t.ok(refuse('one'))
  void get()
  await Promise.resolve()
  t.equal(requests.length, 2)
  await issue('two', 3_600)
  t.ok(refuse('one'), 'a call with the earlier token can be sent again')
  t.equal(get(), 'two')
  t.notOk(refuse('two'), 'the new one stays, although it is refused')
  t.equal(get(), 'two')
  t.equal(requests.length, 2)
  clock.now += 60_000
  t.ok(refuse('two'))
  void get()
  await Promise.resolve()
  t.equal(requests.length, 3)
})
