/** Submits whose fate is unknown: what ends them, and what the customer pays, on both stores. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
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

  t.test(`submit on ${engine}: one that broke before it was written whole is repeated`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.earlyCuts = 2
    const { json } = await gateway.create({ prompt: 'a cat '.repeat(1_000_000) })
    await gateway.reach(String(json.task_id), 'success')
    t.equal(gateway.here.earlyCuts, 0)
    t.equal(gateway.requests.filter(({ method }) => method === 'POST').length, 1)
    t.equal(await gateway.spent(), PRICE)
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

/** Answers to submits in the shapes of several providers: which say that nothing was created. */
type Outcome = 'failed' | 'unknown' | 'accepted' | 'submitted'
interface Shape {
  readonly dialect: string
  readonly submit: object
  /** Own answers of the provider. */
  readonly answers: readonly (readonly [status: number, json: Json, Outcome])[]
}
const GOOGLE = { error: { code: 503, status: 'UNAVAILABLE', message: 'try later' } }
const SHAPES: Readonly<Record<string, Shape>> = {
  kling: {
    dialect: 'openai-videos',
    submit: {
      id: '/data/task_id',
      code: '/code',
      codes: { 0: 'submitted', 5000: 'failed', default: 'failed' },
    },
    answers: [
      [400, { code: 1201, message: 'bad prompt' }, 'failed'],
      [429, { code: 1303, message: 'too many' }, 'accepted'],
      [500, { code: 5000, message: 'internal error' }, 'failed'],
      [500, { code: 0, data: {} }, 'unknown'],
      [504, { code: 504, msg: 'gateway timeout' }, 'unknown'],
      [200, { code: 1102, message: 'balance' }, 'failed'],
    ],
  },
  busy: {
    dialect: 'openai-videos',
    submit: {
      id: '/data/task_id',
      code: '/code',
      codes: { 0: 'submitted', 5001: 'again', default: 'failed' },
    },
    answers: [[504, { code: 5001, message: 'busy' }, 'accepted']],
  },
  suno: {
    dialect: 'suno',
    submit: { id: '/data', code: '/code', codes: { success: 'submitted', default: 'failed' } },
    answers: [
      [500, { code: 'server_error', message: 'no', data: null }, 'unknown'],
      [500, { code: 'success', message: '', data: null }, 'unknown'],
      [200, { code: 'insufficient_user_quota', message: 'no' }, 'failed'],
    ],
  },
  midjourney: {
    dialect: 'midjourney',
    submit: {
      id: '/result',
      code: '/code',
      codes: { 1: 'submitted', 22: 'submitted', 23: 'again', 24: 'failed', default: 'failed' },
    },
    answers: [
      [500, { code: 24, description: 'banned word' }, 'failed'],
      [500, { code: 1, description: 'ok' }, 'unknown'],
      [504, { code: 504, msg: 'gateway timeout' }, 'unknown'],
      [200, { code: 23, description: 'queue full' }, 'accepted'],
    ],
  },
  runway: {
    dialect: 'openai-videos',
    submit: { id: '/id' },
    answers: [
      [401, { error: 'no key' }, 'failed'],
      [502, { error: 'bad gateway' }, 'unknown'],
      [200, { error: { code: 'no', message: 'no' } }, 'failed'],
    ],
  },
  operations: {
    dialect: 'openai-videos',
    submit: { id: '/name' },
    answers: [
      [500, GOOGLE, 'failed'],
      [200, GOOGLE, 'failed'],
      [200, { done: false }, 'unknown'],
    ],
  },
}
/** Answers that no provider words. */
const OTHERS: Shape['answers'] = [
  [400, {}, 'failed'],
  [402, {}, 'failed'],
  [404, {}, 'failed'],
  [429, {}, 'accepted'],
  [503, {}, 'accepted'],
  [500, {}, 'unknown'],
  [504, 'timeout', 'unknown'],
]

for (const engine of ENGINES)
  for (const [name, { dialect, submit, answers }] of Object.entries(SHAPES))
    t.test(`submit on ${engine}: answers of ${name}`, async t => {
      const gateway = await startTasks(t, engine, { dialect, submit })
      for (const [status, json, state] of [...answers, ...OTHERS]) {
        gateway.here.script = () => ({ status, json })
        await gateway.create()
        const row = await eventually(async () => {
          const text = `SELECT t.state, t.failures, t.process, c.state AS charge FROM tasks t
            JOIN charges c ON c.request = t.request ORDER BY t.id DESC LIMIT 1`
          const [row] = await gateway.rows(text)
          const isOver = row?.process === null && (row.state !== 'accepted' || row.failures !== 0)
          return isOver && row.state !== 'submitting' ? row : undefined
        })
        const charge = state === 'failed' ? 'released' : 'open'
        t.match(row, { state, charge }, `${status} ${JSON.stringify(json)}`)
        await gateway.change('UPDATE tasks SET due = NULL')
      }
      t.equal(await gateway.spent(), 0n)
      t.same(await gateway.findings(), [])
    })
