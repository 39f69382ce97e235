/** Submits whose fate is unknown while the customer, the upstream and two processes act at once:
 *  charged once or not at all, delivered as the ledger says, and no hold is left. */
import t, { type Test } from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { creationsOf, POLL, PRICE, startTasks } from '../../plugins/task/task-gateway.ts'

type Gateway = Awaited<ReturnType<typeof startTasks>>
const FINDING = {
  submit: { id: '/task_id', own_id: '/client' },
  find: { path: 'GET /ent/v2/tasks?client={task}', id: '/id' },
}
const isFinding = (path: string): boolean => path.includes('?client=')
const isPoll = (path: string): boolean => path.endsWith('/creations')
const SUCCESS = { json: { state: 'success', creations: creationsOf('success') } }

const isCancelled = ({ requests }: Gateway, id: string): boolean =>
  requests.some(({ path }) => path.includes(id) && path.endsWith('/cancel'))

const gate = () => Promise.withResolvers<void>()
const cancel = (gateway: Gateway, id: string) => gateway.call('POST', `/tasks/${id}/cancel`, {})
const create = async (gateway: Gateway) => String((await gateway.create()).json.task_id)
const isIn = (gateway: Gateway, state: string) =>
  eventually(async () => {
    const [row] = await gateway.rows('SELECT state, process FROM tasks')
    return row?.state === state && row.process === null ? true : undefined
  })
/** The task is as the customer was told, and so are its charges. */
const balances = async (t: Test, gateway: Gateway, id: string, state: string) => {
  t.equal((await gateway.query(id)).json.state, state)
  t.equal(await gateway.spent(), state === 'success' ? PRICE : 0n)
  const charges = await gateway.rows('SELECT state, amount FROM charges')
  t.same(
    charges.filter(charge => charge.state === 'open'),
    [],
    'no hold is left',
  )
  t.equal(charges.filter(({ amount }) => Number(amount) > 0).length, state === 'success' ? 1 : 0)
  t.same(await gateway.findings(), [])
}

for (const engine of ENGINES) {
  t.test(`lost submit on ${engine}: is cancelled at once while it is looked for`, async t => {
    const gateway = await startTasks(t, engine, FINDING)
    const [request, answer] = [gate(), gate()]
    gateway.here.script = async ({ method, path }) => {
      if (method === 'POST') return path.endsWith('/cancel') ? {} : { cut: true }
      if (!isFinding(path)) return SUCCESS
      request.resolve()
      await answer.promise
      return { json: { id: 'up-9' } }
    }
    const id = await create(gateway)
    await request.promise
    t.equal((await cancel(gateway, id)).status, 200)
    await balances(t, gateway, id, 'failed')
    answer.resolve()
    await eventually(async () => isCancelled(gateway, 'up-9') || undefined)
    await balances(t, gateway, id, 'failed')
  })

  t.test(`lost submit on ${engine}: is cancelled between two looks for it`, async t => {
    const gateway = await startTasks(t, engine, { ...FINDING, poll: { ...POLL, every: '30s' } })
    let isAway = true
    gateway.here.script = ({ method, path }) => {
      if (method === 'POST') return path.endsWith('/cancel') ? {} : { cut: true }
      if (isAway) return { status: 502 }
      return isFinding(path) ? { json: { id: 'up-9' } } : SUCCESS
    }
    const id = await create(gateway)
    await isIn(gateway, 'submitting')
    t.equal((await cancel(gateway, id)).status, 200)
    await balances(t, gateway, id, 'failed')
    isAway = false
    await gateway.change('UPDATE tasks SET due = 1')
    await eventually(async () => isCancelled(gateway, 'up-9') || undefined)
    await eventually(async () => {
      const [row] = await gateway.rows('SELECT due, process FROM tasks')
      return row?.due === null && row.process === null ? true : undefined
    })
    t.notOk(
      gateway.requests.some(({ path }) => isPoll(path)),
      'it is not polled for results',
    )
    await balances(t, gateway, id, 'failed')
  })

  t.test(`lost submit on ${engine}: a cancelled one is looked for at most five times`, async t => {
    const gateway = await startTasks(t, engine, FINDING)
    gateway.here.script = ({ method }) => (method === 'POST' ? { cut: true } : { status: 404 })
    const id = await create(gateway)
    await isIn(gateway, 'submitting')
    t.equal((await cancel(gateway, id)).status, 200)
    const before = gateway.requests.length
    await eventually(async () => {
      const [row] = await gateway.rows('SELECT due, process FROM tasks')
      return row?.due === null && row.process === null ? true : undefined
    })
    const looks = gateway.requests.length - before
    t.ok(looks > 0 && looks <= 5, String(looks))
    await balances(t, gateway, id, 'failed')
  })

  t.test(`lost submit on ${engine}: fails at unknown_after while it is looked for`, async t => {
    const gateway = await startTasks(t, engine, { ...FINDING, unknown_after: '300ms' })
    let isAway = true
    gateway.here.script = ({ method, path }) => {
      if (method === 'POST') return { cut: true }
      if (isAway) return { status: 502 }
      return isFinding(path) ? { json: { id: 'up-9' } } : SUCCESS
    }
    const id = await create(gateway)
    await gateway.reach(id, 'failed')
    await balances(t, gateway, id, 'failed')
    isAway = false
    await gateway.change('UPDATE tasks SET due = 1')
    await gateway.reach(id, 'success')
    await balances(t, gateway, id, 'success')
    t.match(await gateway.rows('SELECT late FROM tasks'), [{ late: 1 }])
  })

  for (const first of ['cancel', 'success'] as const)
    t.test(`late success on ${engine}: a cancel of the failed task, ${first} first`, async t => {
      const gateway = await startTasks(t, engine, { ...FINDING, unknown_after: '300ms' })
      const [request, answer] = [gate(), gate()]
      let isAway = true
      gateway.here.script = async ({ method, path }) => {
        if (method === 'POST') return path.endsWith('/cancel') ? {} : { cut: true }
        if (isAway) return { status: 502 }
        if (isFinding(path)) return { json: { id: 'up-9' } }
        if (isPoll(path)) request.resolve()
        await answer.promise
        return SUCCESS
      }
      const id = await create(gateway)
      await gateway.reach(id, 'failed')
      isAway = false
      await gateway.change('UPDATE tasks SET due = 1')
      await request.promise
      if (first === 'success') answer.resolve()
      if (first === 'success') await gateway.reach(id, 'success')
      t.equal((await cancel(gateway, id)).status, 400, 'it has ended')
      answer.resolve()
      await gateway.reach(id, 'success')
      await balances(t, gateway, id, 'success')
    })

  t.test(`unknown task on ${engine}: a cancel races with its release`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = () => ({ cut: true })
    for (let count = 0; count < 5; count++) {
      const id = await create(gateway)
      await isIn(gateway, 'unknown')
      const [answer] = await Promise.all([
        cancel(gateway, id),
        gateway.change('UPDATE tasks SET due = 1'),
      ])
      t.ok([200, 400].includes(answer.status))
      await isIn(gateway, 'failed')
      await balances(t, gateway, id, 'failed')
      await gateway.change('DELETE FROM tasks')
    }
  })

  t.test(`unknown task on ${engine}: after a restart it is released once`, async t => {
    const gateway = await startTasks(t, engine, { unknown_after: '1h' })
    gateway.here.script = () => ({ cut: true })
    const id = await create(gateway)
    await isIn(gateway, 'unknown')
    await gateway.worker({ unknown_after: '1h' })
    t.equal((await gateway.query(id)).json.state, 'processing', 'its time is not over')
    await gateway.change('UPDATE tasks SET due = 1')
    await gateway.reach(id, 'failed')
    await balances(t, gateway, id, 'failed')
    t.equal(gateway.requests.length, 1, 'it was submitted once')
  })
}

t.test('task id: its slashes are those of the path, and nothing is resolved', async t => {
  for (const [upstreamId, path] of [
    ['operations/abc', '/v1beta/operations/abc'],
    ['models/veo-3/operations/a b?c', '/v1beta/models/veo-3/operations/a%20b%3Fc'],
    ['../keys', '/v1beta/..%2Fkeys'],
    ['a//b', '/v1beta/a%2F%2Fb'],
  ] as const) {
    const gateway = await startTasks(t, 'sqlite', {
      submit: { id: '/name' },
      poll: { ...POLL, path: 'GET /v1beta/{id}', state: '/done', states: { true: 'succeeded' } },
      cancel: { path: 'POST /v1beta/{id}:cancel' },
    })
    const done = gate()
    gateway.here.script = async ({ method }) => {
      if (method === 'POST') return { json: { name: upstreamId } }
      await done.promise
      return { json: { done: true, creations: creationsOf('success') } }
    }
    const id = await create(gateway)
    const poll = await eventually(() => gateway.requests.at(1))
    t.equal(poll.path, path)
    done.resolve()
    await gateway.reach(id, 'success')
    await balances(t, gateway, id, 'success')
  }
})
