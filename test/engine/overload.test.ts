/** A process that has more to do than it can turns new requests away, and those under way are served. */
import t from 'tap'
import { Overload } from '../../engine/overload.ts'
import { plugin, startCore } from '../helpers/core.ts'
import { byHand } from '../helpers/ticks.ts'

const EVERY = 50

t.test('timers that come late twice in a row are overload; one in time ends it', async t => {
  const ticks = byHand(t)
  const overload = new Overload()
  t.equal(overload.shedding, false)
  ticks.pass(EVERY, EVERY)
  ticks.pass(EVERY + 251, EVERY)
  t.equal(overload.shedding, false, 'once is chance')
  ticks.pass(EVERY + 251, EVERY)
  t.equal(overload.shedding, true)
  ticks.pass(EVERY + 500, EVERY)
  t.equal(overload.shedding, true)
  ticks.pass(EVERY + 250, EVERY)
  t.equal(overload.shedding, false)
  overload.close()
  t.equal(ticks.running, 0)
})

t.test('a process that others keep from working is not overloaded', async t => {
  const ticks = byHand(t)
  const overload = new Overload()
  ticks.busy = 0.3
  for (let n = 0; n < 5; n++) ticks.pass(EVERY + 1_000, EVERY)
  t.equal(overload.shedding, false)
  overload.close()
})

t.test('then new requests are answered 503 at once, in the client’s dialect', async t => {
  const ticks = byHand(t)
  const wait = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const slow = plugin({
    answers: true,
    async handle(exchange) {
      begun.resolve()
      await wait.promise
      exchange.answer(200, { served: true })
    },
    fail: ({ code, status, headers }) => ({
      status,
      headers: { ...headers },
      body: Buffer.from(`own ${code}`),
    }),
  })
  const core = await startCore(t, { slow }, { routes: [{ path: 'GET /' }] })
  const early = fetch(core.url)
  await begun.promise
  for (let n = 0; n < 2; n++) ticks.pass(EVERY + 1_000, EVERY)
  const late = await fetch(core.url)
  t.equal(late.status, 503)
  t.equal(late.headers.get('retry-after'), '1')
  t.equal(await late.text(), 'own OVERLOADED')
  ticks.pass(EVERY, EVERY)
  wait.resolve()
  t.equal((await early).status, 200)
  t.equal((await fetch(core.url)).status, 200, 'and when it is over, all are served')
  ticks.release()
})
