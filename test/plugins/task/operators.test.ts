/** Tasks as operators and accounts see them: paused upstreams, reminders, holds and receipts. */
import t from 'tap'
import { remind } from '../../../plugins/task/alarms.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { creationsOf, runCommand, startTasks } from './task-gateway.ts'

type Gateway = Awaited<ReturnType<typeof startTasks>>
const changePause = async (gateway: Gateway, verb: 'pause' | 'resume', upstream: string) =>
  (await runCommand(gateway, verb, [upstream])).rows

for (const engine of ENGINES)
  t.test(`paused upstream on ${engine}: gets polls and no submits until it is resumed`, async t => {
    const gateway = await startTasks(t, engine)
    let state = 'processing'
    gateway.here.script = ({ method, path }, count) => {
      if (method === 'POST') return { json: { task_id: `up-${count}` } }
      const now = path.includes('up-1') ? state : 'processing'
      return { json: { state: now, creations: creationsOf(now) } }
    }
    const first = String((await gateway.create()).json.task_id)
    await gateway.reach(first, 'processing')
    t.match(await changePause(gateway, 'pause', 'vd'), [{ upstream: 'vd', waiting: 0 }])
    t.match(await changePause(gateway, 'pause', 'vd'), [{ upstream: 'vd' }], 'twice is harmless')
    const second = String((await gateway.create()).json.task_id)
    state = 'success'
    await gateway.reach(first, 'success')
    await new Promise(resolve => setTimeout(resolve, 700))
    t.match((await gateway.query(second)).json, { state: 'created' })
    const submits = () => gateway.requests.filter(({ method }) => method === 'POST').length
    t.equal(submits(), 1)
    t.match(await changePause(gateway, 'resume', 'other'), [{ upstream: 'vd', waiting: 1 }])
    t.same(await changePause(gateway, 'resume', 'vd'), [])
    await gateway.reach(second, 'processing')
    t.equal(submits(), 2)
    await t.rejects(changePause(gateway, 'pause', 'other'), { code: 'TASK_UPSTREAM_UNKNOWN' })
  })

t.test('paused upstream: a task that waits for it fails at its deadline', async t => {
  const gateway = await startTasks(t)
  await changePause(gateway, 'pause', 'vd')
  const id = String((await gateway.create()).json.task_id)
  const [running] = (await runCommand(gateway, 'list', [])).rows as Record<string, string>[]
  t.ok(Number(running?.['held (CNY)']) > 0, 'what a waiting task holds is listed')
  await gateway.change('UPDATE tasks SET deadline = 1')
  t.equal((await gateway.reach(id, 'failed')).err_code, 'Timeout')
  t.match(
    (await runCommand(gateway, 'list', [])).rows,
    [{ 'held (CNY)': '0' }],
    'it holds nothing more',
  )
  t.match((await runCommand(gateway, 'show', [id])).json, { held: null })
  t.equal(gateway.requests.length, 0)
  t.equal(await gateway.spent(), 0n)
})

for (const engine of ENGINES)
  t.test(`unknown task on ${engine}: raises the alarm again every 24 hours`, async t => {
    const gateway = await startTasks(t, engine, { unknown_after: 'hold' })
    gateway.here.script = () => ({ cut: true })
    const id = String((await gateway.create()).json.task_id)
    await eventually(async () =>
      (await gateway.rows('SELECT state FROM tasks'))[0]?.state === 'unknown' ? true : undefined,
    )
    const alarms: unknown[] = []
    const counts: string[] = []
    const { database } = gateway
    const log = { error: (fields: object) => alarms.push(fields) }
    const metrics = { count: (name: string) => counts.push(name) }
    // The gateway reminds of its own routes.
    await gateway.change("UPDATE tasks SET route = 'another'")
    const routes = new Map([['another', { rule: { unknownAfter: undefined } }]])
    const look = () => remind({ database, log, metrics } as never, routes as never)
    await look()
    t.same(alarms, [])
    await gateway.change('UPDATE tasks SET changed = changed - 86400000')
    await look()
    await look()
    t.match(alarms, [{ task: id, model: 'clip' }], 'once')
    await gateway.change('UPDATE tasks SET warned = warned - 86400000')
    await look()
    t.equal(alarms.length, 2)
    t.same(counts, Array(2).fill('tasks_unknown_reminders_total'))
  })

t.test('task: its hold is in the account and its receipt has its id', async t => {
  const gateway = await startTasks(t)
  let state = 'processing'
  gateway.here.script = ({ method }) => ({
    json: method === 'POST' ? { task_id: 'up' } : { state, creations: creationsOf(state) },
  })
  const id = String((await gateway.create()).json.task_id)
  await gateway.reach(id, 'processing')
  const dataOf = async (path: string) => (await gateway.call('GET', path)).json.data
  t.match(await dataOf('/info'), { balance: 1_000, held: 0.125 })
  t.match(await dataOf(`/usage/${id}`), { task_id: id, state: 'open', held: 0.125, cost: 0 })
  state = 'success'
  await gateway.reach(id, 'success')
  t.match(await dataOf('/info'), { balance: 999.875, held: 0 })
  t.match(await dataOf(`/usage/${id}`), { task_id: id, state: 'settled', cost: 0.125 })
  t.equal((await gateway.call('GET', `/usage/${id}`, undefined, '2')).status, 404)
})
