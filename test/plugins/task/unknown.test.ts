/** Submits whose fate is unknown: what ends them, and what the customer pays, on both stores. */
import t from 'tap'
import { remind } from '../../../plugins/task/alarms.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { POLL, PRICE, runCommand, startTasks, statesOf } from './task-gateway.ts'

type Gateway = Awaited<ReturnType<typeof startTasks>>
const REFUSAL = { code: 500, reason: 'InternalServiceFailure', message: 'try later', metadata: {} }
const heldBy = async (gateway: Gateway) => {
  const [row] = await gateway.rows(
    "SELECT coalesce(sum(held), 0) AS held FROM charges WHERE state = 'open'",
  )
  return BigInt(Number(row?.held))
}
const rowOf = async (gateway: Gateway, state: string) =>
  eventually(async () => {
    const [row] = await gateway.rows('SELECT state, due, late, process, error FROM tasks')
    return row?.state === state && row.process === null ? row : undefined
  })

for (const engine of ENGINES) {
  t.test(`submit on ${engine}: the provider's own error of 500 refuses it`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = () => ({ status: 500, json: REFUSAL })
    const { json } = await gateway.create()
    const done = await gateway.reach(String(json.task_id), 'failed')
    t.equal(done.err_code, 'InternalServiceFailure')
    t.equal(await heldBy(gateway), 0n)
    t.equal(await gateway.spent(), 0n)
    t.equal(gateway.requests.length, 1)
  })

  t.test(`submit on ${engine}: the provider's own error in a 200 refuses it`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = () => ({ json: REFUSAL })
    const { json } = await gateway.create()
    const done = await gateway.reach(String(json.task_id), 'failed')
    t.equal(done.err_code, 'InternalServiceFailure')
    t.equal(await heldBy(gateway), 0n)
    t.equal(await gateway.spent(), 0n)
    t.same(await gateway.findings(), [])
  })

  t.test(`unknown task on ${engine}: its customer cancels it at once`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = () => ({ status: 502 })
    const id = String((await gateway.create()).json.task_id)
    await rowOf(gateway, 'unknown')
    t.equal(await heldBy(gateway), PRICE)
    t.equal((await gateway.call('POST', `/tasks/${id}/cancel`, {})).status, 200)
    t.match(await gateway.reach(id, 'failed'), { err_code: 'UserCancelled' })
    t.equal(await heldBy(gateway), 0n)
    t.same(await gateway.findings(), [])
  })

  t.test(`submit on ${engine}: one without an answer is cancelled, also upstream`, async t => {
    const gateway = await startTasks(t, engine)
    const { promise, resolve } = Promise.withResolvers<void>()
    gateway.here.script = async ({ path }) => {
      if (!path.endsWith('/cancel')) await promise
      return { json: { task_id: 'up-1' } }
    }
    const id = String((await gateway.create()).json.task_id)
    await eventually(() => gateway.requests.at(0))
    t.equal((await gateway.call('POST', `/tasks/${id}/cancel`, {})).status, 200)
    t.match(await gateway.reach(id, 'failed'), { err_code: 'UserCancelled' })
    t.equal(await heldBy(gateway), 0n)
    resolve()
    const cancel = await eventually(() => gateway.requests.at(1))
    t.equal(cancel.path, '/ent/v2/tasks/up-1/cancel')
    t.match(await gateway.query(id), { json: { state: 'failed' } })
    t.same(await gateway.findings(), [])
  })

  t.test(
    `unknown task on ${engine}: fails at unknown_after; a late success is charged`,
    async t => {
      const gateway = await startTasks(t, engine, { unknown_after: '300ms' })
      gateway.here.script = () => ({ cut: true })
      const id = String((await gateway.create()).json.task_id)
      t.match(await gateway.reach(id, 'failed'), { err_code: 'InternalServiceFailure', credits: 0 })
      t.equal(await heldBy(gateway), 0n)
      t.equal(await gateway.spent(), 0n)
      t.same(await gateway.findings(), [])
      await runCommand(gateway, 'resolve', [id], { charge: true })
      t.match(await gateway.query(id), { json: { state: 'success' } })
      t.match(await rowOf(gateway, 'succeeded'), { late: 1 })
      t.equal(await gateway.spent(), PRICE)
      await t.rejects(runCommand(gateway, 'resolve', [id], { charge: true }), {
        code: 'TASK_STATE',
      })
      t.equal(await gateway.spent(), PRICE)
      t.same(await gateway.findings(), [])
    },
  )

  t.test(`unknown task on ${engine}: one that an upstream finds late succeeds once`, async t => {
    const find = { path: 'GET /ent/v2/tasks?client={task}', id: '/id' }
    const gateway = await startTasks(t, engine, {
      submit: { id: '/task_id', own_id: '/client' },
      find,
      unknown_after: '300ms',
      late: ['1ms', '1h'],
      poll: { ...POLL, deadline: '500ms' },
    })
    const poll = statesOf('success')
    let isAway = true
    gateway.here.script = (request, count) => {
      if (request.method === 'POST') return { cut: true }
      if (isAway) return { status: 502 }
      return request.path.includes('?client=') ? { json: { id: 'up-9' } } : poll(request, count)
    }
    const id = String((await gateway.create()).json.task_id)
    await gateway.reach(id, 'failed')
    t.equal(await gateway.spent(), 0n)
    isAway = false
    await gateway.change('UPDATE tasks SET due = 1')
    t.match(await gateway.reach(id, 'success'), { creations: [{ url: /up-9/ }] })
    t.match(await rowOf(gateway, 'succeeded'), { late: 1 })
    t.equal(await gateway.spent(), PRICE)
    t.same(await gateway.findings(), [])
  })

  t.test(`unknown task on ${engine}: one of an earlier version is released, too`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = () => ({ cut: true })
    const id = String((await gateway.create()).json.task_id)
    await rowOf(gateway, 'unknown')
    await gateway.change('UPDATE tasks SET due = NULL, changed = changed - 3600000')
    const [row] = await gateway.rows('SELECT route FROM tasks')
    const routes = new Map([[String(row?.route), { rule: { unknownAfter: 3_600_000 } }]])
    await remind({ ...gateway, log: { error() {} } } as never, routes as never)
    t.match(await gateway.reach(id, 'failed'), { err_code: 'InternalServiceFailure' })
    t.equal(await heldBy(gateway), 0n)
  })
}

t.test('submit: what refuses it can be set', async t => {
  const places = { id: '/task_id', refused: ['/fault/name', 507] }
  const gateway = await startTasks(t, 'sqlite', { submit: places, unknown_after: 'hold' })
  for (const [status, json, state] of [
    [500, { fault: { name: 'no' } }, 'failed'],
    [507, {}, 'failed'],
    [500, REFUSAL, 'processing'],
  ] as const) {
    gateway.here.script = () => ({ status, json })
    const { json: task } = await gateway.create()
    await gateway.reach(String(task.task_id), state)
  }
})
