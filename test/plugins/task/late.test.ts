/** Tasks that fail by their deadline and that the upstream finishes later. */
import t, { type Test } from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startReceiver, status, trustReceivers } from '../../helpers/money/receiver.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { PRICE, startTasks } from './task-gateway.ts'

trustReceivers()

type Gateway = Awaited<ReturnType<typeof startTasks>>
const isDefined = async (read: () => Promise<unknown>) =>
  eventually(async () => ((await read()) ? true : undefined))

/** A gateway with one task that failed by its deadline. `pollLate` makes it due. */
const startExpired = async (t: Test, gateway: Gateway, body: object = {}) => {
  const upstream = { state: 'processing', polls: 0 }
  gateway.here.script = ({ method }) => {
    if (method === 'POST') return { json: { task_id: 'up' } }
    upstream.polls++
    const creations = upstream.state === 'success' ? [{ id: '1', url: 'https://a.example/1' }] : []
    return { json: { state: upstream.state, creations } }
  }
  const id = String((await gateway.create(body)).json.task_id)
  await gateway.reach(id, 'processing')
  await gateway.change(`UPDATE tasks SET deadline = ${Date.now() - 1}`)
  const { err_code } = await gateway.reach(id, 'failed')
  t.equal(err_code, 'Timeout')
  t.equal(await gateway.spent(), 0n)
  return { id, upstream, pollLate: () => gateway.change('UPDATE tasks SET due = 1') }
}

for (const engine of ENGINES)
  t.test(`late success on ${engine}: is charged once and announced again`, async t => {
    const gateway = await startTasks(t, engine)
    let isBroken = true
    const receiver = await startReceiver(t, (one, response) =>
      (isBroken ? status(500) : status(200))(one, response, undefined as never),
    )
    const body = { callback_url: receiver.origin }
    const { id, upstream, pollLate } = await startExpired(t, gateway, body)
    const topics = async () =>
      (await gateway.rows('SELECT topic, state FROM task_callbacks ORDER BY created, id')).map(
        ({ topic, state }) => `${topic} ${state}`,
      )
    await receiver.until(2)
    const [waiting] = await gateway.rows('SELECT due, late FROM tasks')
    const wait = Number(waiting?.due) - Date.now()
    t.ok(wait > 240_000 && wait <= 300_000, 'it is polled again five minutes after its deadline')
    isBroken = false
    upstream.state = 'success'
    await pollLate()
    const done = await gateway.reach(id, 'success')
    t.match(done, { err_code: '', creations: [{ url: 'https://a.example/1' }] })
    t.equal(await gateway.spent(), PRICE)
    await isDefined(async () => (await topics()).includes('success delivered'))
    t.same(await topics(), ['processing failed', 'failed superseded', 'success delivered'])
    const rows = await gateway.rows('SELECT state, due, late, callback_key, process FROM tasks')
    t.match(rows, [{ state: 'succeeded', due: null, late: 1, callback_key: null, process: null }])
    t.match(await gateway.rows('SELECT * FROM charges ORDER BY request'), [
      { state: 'released', amount: 0 },
      {
        state: 'settled',
        amount: Number(PRICE),
        uncollected: 0,
        request: /_late$/,
        closed: Number,
      },
    ])
    t.same(await gateway.findings(), [])
    const { data } = (await gateway.call('GET', `/usage/${id}`)).json as { data: object }
    t.match(data, { request_id: /_late$/, task_id: id, state: 'settled', cost: 0.125 })
    const before = upstream.polls
    await new Promise(resolve => setTimeout(resolve, 1_200))
    t.equal(upstream.polls, before, 'it is final')
  })

t.test('late success: what the balance does not cover is uncollected', async t => {
  const gateway = await startTasks(t)
  const { id, upstream, pollLate } = await startExpired(t, gateway)
  // All but a part of the price is gone meanwhile.
  await gateway.change('UPDATE credits SET amount = 100000000')
  await gateway.change('UPDATE wallets SET balance = 100000000 WHERE account = 1')
  await gateway.change('DELETE FROM shares')
  await gateway.change('UPDATE wallets SET reserved = 0')
  upstream.state = 'success'
  await pollLate()
  await gateway.reach(id, 'success')
  t.match(await gateway.rows("SELECT amount, uncollected FROM charges WHERE state = 'settled'"), [
    { amount: 100_000_000, uncollected: Number(PRICE) - 100_000_000 },
  ])
  const [wallet] = await gateway.rows('SELECT balance, reserved FROM wallets WHERE account = 1')
  t.match(wallet, { balance: 0, reserved: 0 })
  t.same(await gateway.findings(), [])
})

t.test('late poll: a task that the upstream failed or never finished stays failed', async t => {
  for (const state of ['failed', 'processing']) {
    const gateway = await startTasks(t)
    const { upstream, pollLate, id } = await startExpired(t, gateway)
    upstream.state = state
    await gateway.change('UPDATE tasks SET deadline = deadline - 86400000')
    await pollLate()
    await isDefined(async () => (await gateway.rows('SELECT due FROM tasks'))[0]?.due === null)
    t.match((await gateway.query(id)).json, { state: 'failed', err_code: 'Timeout' })
    t.equal(await gateway.spent(), 0n)
    t.same(await gateway.findings(), [])
  }
})

t.test('late poll: an upstream that does not answer is polled at the next time', async t => {
  const gateway = await startTasks(t)
  const { upstream, pollLate } = await startExpired(t, gateway)
  const { polls } = upstream
  const { script } = gateway.here
  gateway.here.script = request => {
    upstream.polls++
    return request.method === 'GET' ? { status: 503 } : script(request, 1)
  }
  await pollLate()
  await isDefined(async () => upstream.polls > polls)
  await isDefined(async () => Number((await gateway.rows('SELECT due FROM tasks'))[0]?.due) > 1)
})
