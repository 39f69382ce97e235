/** An overloaded process refuses new requests, so that those under way are served. */
import t from 'tap'
import type { Exchange } from '../../../engine/plugin.ts'
import { Overload } from '../../../engine/request/overload.ts'
import { type ManualClock, manualClock } from '../../helpers/clocks.ts'
import { pluginOf, startTestServer } from '../../helpers/gateway/test-server.ts'

const EVERY = 50
const OFTEN = 10

t.test('overload: two late timers in a row are overload', async t => {
  const ticks = manualClock(t)
  const overload = new Overload()
  t.equal(overload.shouldShed(performance.now()), false)
  ticks.pass(EVERY, EVERY)
  ticks.pass(EVERY + 251, EVERY)
  ticks.pass(EVERY, EVERY)
  ticks.pass(EVERY + 251, EVERY)
  ticks.pass(1_000, OFTEN)
  t.equal(overload.shouldShed(performance.now()), false, 'a single late timer is not an overload')
  overload.close()
  t.equal(ticks.running, 0)
})

t.test('overload: requests late in a turn of the loop are refused', async t => {
  const ticks = manualClock(t)
  const overload = new Overload()
  for (let n = 0; n < 2; n++) ticks.pass(EVERY + 251, EVERY)
  t.equal(overload.shouldShed(performance.now()), false, 'the turn has just begun')
  for (let turn = 0; turn < 5; turn++) {
    ticks.pass(20, EVERY)
    t.equal(overload.shouldShed(performance.now()), false)
    ticks.pass(1, EVERY)
    t.equal(overload.shouldShed(performance.now()), true)
    ticks.pass(500, OFTEN)
    t.equal(overload.shouldShed(performance.now()), false, 'the next turn serves again')
  }
  ticks.pass(501, OFTEN)
  ticks.pass(200, OFTEN)
  t.equal(overload.shouldShed(performance.now()), false, 'a second without a refusal ends it')
  ticks.pass(200, EVERY)
  t.equal(overload.shouldShed(performance.now()), false)
  for (let n = 0; n < 2; n++) ticks.pass(EVERY + 251, EVERY)
  ticks.pass(41, OFTEN + 1)
  t.equal(overload.shouldShed(performance.now()), true, 'overload may begin again')
  overload.close()
  t.equal(ticks.running, 0)
})

/** Sends `count` requests that block the loop for `each` ms; returns how many were refused. */
const sendRequests = (
  ticks: ManualClock,
  overload: Overload,
  count: number,
  each: number,
): number => {
  let shed = 0
  for (let n = 0; n < count; n++) {
    if (overload.shouldShed(performance.now())) shed++
    else ticks.pass(each, 0)
  }
  return shed
}

t.test('overload: a second turn full of requests is overload before the turn ends', async t => {
  const ticks = manualClock(t)
  const overload = new Overload()
  ticks.pass(0, EVERY)
  t.equal(sendRequests(ticks, overload, 100, 10), 0, 'one such turn is not an overload')
  ticks.pass(0, EVERY)
  t.equal(sendRequests(ticks, overload, 100, 10), 75, '250 ms of the next turn are served')
  ticks.pass(0, OFTEN)
  t.equal(sendRequests(ticks, overload, 10, 10), 7, '20 ms of each later turn are served')
  overload.close()
  t.equal(ticks.running, 0)
})

t.test('overload: short turns and single long requests are not overload', async t => {
  const ticks = manualClock(t)
  const overload = new Overload()
  for (let turn = 0; turn < 9; turn++) {
    t.equal(sendRequests(ticks, overload, 24, 10), 0, 'short turns')
    ticks.pass(0, EVERY)
  }
  for (let turn = 0; turn < 9; turn++) {
    t.equal(sendRequests(ticks, overload, 1, 200), 0, 'one long request')
    t.equal(sendRequests(ticks, overload, 20, 1), 0)
    ticks.pass(0, EVERY)
  }
  ticks.busy = 0.3
  for (let turn = 0; turn < 9; turn++) {
    t.equal(sendRequests(ticks, overload, 100, 10), 0, 'other processes use the CPU')
    ticks.pass(0, EVERY)
  }
  overload.close()
})

t.test('overload: a process that waits for the CPU is not overloaded', async t => {
  const ticks = manualClock(t)
  const overload = new Overload()
  ticks.busy = 0.3
  for (let n = 0; n < 5; n++) ticks.pass(EVERY + 1_000, EVERY)
  ticks.pass(1_000, OFTEN)
  t.equal(overload.shouldShed(performance.now()), false)
  overload.close()
})

t.test("overload: new requests get a 503 at once, in the client's dialect", async t => {
  const ticks = manualClock(t)
  const wait = Promise.withResolvers<void>()
  const requestStart = Promise.withResolvers<void>()
  const slow = pluginOf({
    answers: true,
    async handle(exchange) {
      requestStart.resolve()
      await wait.promise
      exchange.answer(200, { served: true })
    },
    fail: ({ code, status, headers }) => ({
      status,
      headers: { ...headers },
      body: Buffer.from(`own ${code}`),
    }),
  })
  const core = await startTestServer(t, { slow }, { routes: [{ path: 'GET /' }] }, undefined, {
    overload: new Overload(),
  })
  const early = fetch(core.url)
  await requestStart.promise
  for (let n = 0; n < 2; n++) ticks.pass(EVERY + 1_000, EVERY)
  ticks.pass(41, EVERY)
  const late = await fetch(core.url)
  t.equal(late.status, 503)
  t.equal(late.headers.get('retry-after'), '1')
  t.equal(await late.text(), 'own OVERLOADED')
  ticks.pass(1_001, OFTEN)
  wait.resolve()
  t.equal((await early).status, 200)
  t.equal((await fetch(core.url)).status, 200, 'all are served when it is over')
  ticks.release()
})

t.test('overload: a gateway inside a test serves beside long turns of the test', async t => {
  const ticks = manualClock(t)
  const handle = async (exchange: Exchange) => void exchange.answer(200, {})
  const plain = pluginOf({ answers: true, handle })
  const { url } = await startTestServer(t, { plain }, { routes: [{ path: 'GET /' }] })
  for (let n = 0; n < 2; n++) ticks.pass(EVERY + 1_000, EVERY)
  ticks.pass(41, EVERY)
  t.equal((await fetch(url)).status, 200)
  ticks.release()
})
