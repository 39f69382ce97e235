/** The charge of a finished task: the upstream's usage, the order, or the hold. */
import t from 'tap'
import { ENGINES } from '../../helpers/store/store.ts'
import { POLL, PRICE, startTasks } from './task-gateway.ts'

const models = {
  film: {
    to: 'vd/film',
    price: { seconds: { by: 'resolution', price: { '1080p': 0.1, default: 0.025 } } },
    max_calls: { seconds: 16 },
  },
  tokens: { to: 'vd/tokens', price: { output: '10 / 1M' }, output: 500_000 },
}
const HELD_FILM = 1_600_000_000n
const usage = { seconds: '/made/duration', output: '/usage/total_tokens', resolution: '/made/size' }
const films = (json: object) => ({ creations: [{ url: 'https://files.example/1' }], ...json })

/** Runs one task; returns what it was charged. */
const chargeOf = async (
  gateway: Awaited<ReturnType<typeof startTasks>>,
  body: object,
  polled: object,
  state = 'success',
  submitted: object = {},
) => {
  const before = await gateway.spent()
  gateway.here.script = ({ method }) => ({
    json: method === 'POST' ? { task_id: 'up', ...submitted } : { state: 'success', ...polled },
  })
  const { status, json } = await gateway.create(body)
  if (status !== 200) throw new Error(JSON.stringify(json))
  const done = await gateway.reach(String(json.task_id), 'success', 'failed')
  if (done.state !== state) throw new Error(`it is ${done.state}`)
  return { charged: (await gateway.spent()) - before, done, request: json }
}

for (const engine of ENGINES)
  t.test(`task usage on ${engine}: the upstream's report comes before the request`, async t => {
    const gateway = await startTasks(t, engine, { poll: { ...POLL, usage } }, {}, [], models)
    for (const [what, body, polled, charged] of [
      ['no duration', { duration: undefined }, { made: { duration: 12 } }, 300_000_000n],
      ['a duration of -1', { duration: -1 }, { made: { duration: 12.5 } }, 312_500_000n],
      ['a duration of 0', { duration: 0 }, { made: { duration: '12' } }, 300_000_000n],
      ['another duration', { duration: 8 }, { made: { duration: 4 } }, 100_000_000n],
      ['a duration of 0.5', { duration: 0.5 }, { made: { duration: 5 } }, PRICE],
      ['a duration of 0.0000001', { duration: 1e-7 }, { made: { duration: 5 } }, PRICE],
      ['no report and 0.0000001', { duration: 1e-7 }, {}, 400_000_000n],
      ['more than was ordered', {}, { made: { duration: 12 } }, 300_000_000n],
      ['more than the model makes', {}, { made: { duration: 600 } }, 400_000_000n],
      ['no report', {}, {}, PRICE],
      ['a report of 0', {}, { made: { duration: 0 } }, PRICE],
      ['a report of -3', {}, { made: { duration: -3 } }, PRICE],
      ['a report of 0.0000001', {}, { made: { duration: 1e-7 } }, PRICE],
      ['a report of 1e300', {}, { made: { duration: 1e300 } }, PRICE],
      ['a report of NaN', {}, { made: { duration: 'NaN' } }, PRICE],
      ['a report of true', {}, { made: { duration: true } }, PRICE],
      ['an object as report', {}, { made: { duration: { seconds: 4 } } }, PRICE],
      ['a list of seconds', {}, { made: { duration: [4] } }, PRICE],
      ['an empty list', {}, { made: { duration: [] } }, PRICE],
      ['a report of null', {}, { made: { duration: null } }, PRICE],
      ['no report and no duration', { duration: null }, {}, 400_000_000n],
      ['no report and -1', { duration: -1 }, { made: { duration: 'long' } }, 400_000_000n],
    ] as const)
      t.equal((await chargeOf(gateway, body, films(polled))).charged, charged, what)
    const [last] = await gateway.rows('SELECT estimated FROM charges ORDER BY closed DESC LIMIT 1')
    t.equal(Number(last?.estimated), 1)
    t.same(await gateway.findings(), [])
  })

t.test('task usage: attributes of the report come before those of the request', async t => {
  const gateway = await startTasks(t, 'sqlite', { poll: { ...POLL, usage } }, {}, [], models)
  const film = { model: 'film', resolution: '1080p', duration: 4 }
  const charge = async (polled: object) => (await chargeOf(gateway, film, films(polled))).charged
  t.equal(await charge({}), 400_000_000n)
  t.equal(await charge({ made: { size: '720p' } }), 100_000_000n)
  t.equal(await charge({ made: { size: { width: 1 } } }), 400_000_000n)
  const { charged } = await chargeOf(
    gateway,
    { model: 'film', resolution: '1080p', duration: undefined },
    films({}),
  )
  t.equal(charged, HELD_FILM)
  t.same(await gateway.findings(), [])
})

for (const engine of ENGINES)
  t.test(`task usage on ${engine}: the answer to the submit stands for a silent poll`, async t => {
    const gateway = await startTasks(t, engine, { poll: { ...POLL, usage } }, {}, [], models)
    const film = { model: 'film', resolution: '1080p', duration: 4 }
    const report = { duration: 8, size: '720p' }
    for (const [submitted, polled, charged] of [
      [{ made: report }, {}, 200_000_000n],
      [{ made: report }, { made: { duration: 2 } }, 50_000_000n],
      [{ made: report }, { made: { size: '1080p' } }, 800_000_000n],
      [{ made: { duration: 0, size: '' } }, {}, 400_000_000n],
      [{}, {}, 400_000_000n],
    ] as const) {
      const { charged: amount } = await chargeOf(gateway, film, films(polled), 'success', submitted)
      t.equal(amount, charged, JSON.stringify([submitted, polled]))
    }
    t.same(await gateway.findings(), [])
  })

t.test('task usage: a resolution that the request leaves open is held at its dearest', async t => {
  const gateway = await startTasks(t, 'sqlite', { poll: { ...POLL, usage } }, {}, [], models)
  const film = { model: 'film', resolution: undefined, duration: 4 }
  for (const [polled, charged] of [
    [{ made: { size: '1080p' } }, 400_000_000n],
    [{ made: { size: '720p' } }, 100_000_000n],
    [{}, 100_000_000n],
  ] as const)
    t.equal((await chargeOf(gateway, film, films(polled))).charged, charged)
  const rows = await gateway.rows("SELECT held, uncollected FROM charges WHERE state = 'settled'")
  for (const row of rows)
    t.same([BigInt(row.held as number), Number(row.uncollected)], [HELD_FILM, 0])
  t.same(await gateway.findings(), [])
})

t.test('task usage: tokens are charged as reported, else the hold', async t => {
  const gateway = await startTasks(t, 'sqlite', { poll: { ...POLL, usage } }, {}, [], models)
  const body = { model: 'tokens' }
  const reported = await chargeOf(gateway, body, films({ usage: { total_tokens: 261_360 } }))
  t.equal(reported.charged, 2_613_600_000n)
  const { charged } = await chargeOf(gateway, body, films({ usage: {} }))
  t.equal(charged, 5_000_000_000n)
  t.same(await gateway.findings(), [])
})

t.test('task usage: a success without a result fails and costs nothing', async t => {
  const gateway = await startTasks(t)
  for (const creations of [[], null, undefined, '', [''], [{ url: '' }], [{ url: null }], {}]) {
    const { charged, done } = await chargeOf(gateway, {}, { creations }, 'failed')
    t.equal(charged, 0n, JSON.stringify(creations))
    t.equal(done.err_code, 'InternalServiceFailure')
  }
  t.same(await gateway.findings(), [])
})

t.test('task usage: a success without a result may count', async t => {
  const gateway = await startTasks(t, 'sqlite', { poll: { ...POLL, empty: 'succeeded' } })
  t.equal((await chargeOf(gateway, {}, { creations: [] })).charged, PRICE)
})
