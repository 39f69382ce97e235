/** Durable tasks over a scripted upstream: states, money, failures, on both stores. */
import t from 'tap'
import { SPANS } from '../../../plugins/calls/sum-statements.ts'
import { deleteExpiredTasks } from '../../../plugins/task/jobs.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { POLL, PRICE, runCommand, startTasks, statesOf } from './task-gateway.ts'

for (const engine of ENGINES)
  t.test(
    `task on ${engine}: goes through its states, is charged once and shows its result`,
    async t => {
      const gateway = await startTasks(t, engine)
      const { status, json } = await gateway.create({ payload: 'order 7' })
      t.equal(status, 200)
      t.match(json, { state: 'created', model: 'clip', prompt: 'a cat', payload: 'order 7' })
      t.match(json.task_id, /^\d{18}$/)
      const id = String(json.task_id)
      const done = await gateway.reach(id, 'success')
      t.match(done, { id, task_id: id, err_code: '', payload: 'order 7' })
      t.match(done.creations, [{ id: '1', url: /files\.example\/up-1/ }])
      t.equal(await gateway.spent(), PRICE)
      t.same(await gateway.findings(), [])
      const [submit, ...polls] = gateway.requests
      t.match(submit, { method: 'POST', path: '/ent/v2/text2video', body: { model: 'viduclip' } })
      t.ok(polls.length >= 3)
      t.ok(polls.every(({ path }) => path === '/ent/v2/tasks/up-1/creations'))
      t.equal(
        new Set(gateway.requests.map(({ key }) => key)).size,
        1,
        'every poll has the key of its submit',
      )
      const [charge] = await gateway.rows('SELECT state, process, amount FROM charges')
      t.match(charge, { state: 'settled', process: null })
    },
  )

t.test('task: is released whole when the upstream fails it', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = statesOf('processing', 'failed')
  const { json } = await gateway.create()
  const done = await gateway.reach(String(json.task_id), 'failed')
  t.match(done, { err_code: 'Moderation', creations: [], credits: 0 })
  t.equal(await gateway.spent(), 0n)
  t.same(await gateway.findings(), [])
  const failed = await eventually(async () => {
    const [row] = await gateway.rows(
      `SELECT CAST(sum(failed) AS BIGINT) AS failed FROM call_sums WHERE span = ${SPANS.day}`,
    )
    return Number(row?.failed) || undefined
  })
  t.equal(failed, 1, 'it counts in the sums of its day')
})

t.test('task: hides the key of its upstream in reasons and results', async t => {
  const gateway = await startTasks(t)
  const echo = ({ method, key }: { method: string; key: string }, state: string) =>
    method === 'POST'
      ? { json: { task_id: `up-${state}`, state: 'created' } }
      : {
          json: {
            state,
            err_code: `no: ${key}`,
            creations: [{ id: key, url: `https://a/${key}` }],
          },
        }
  for (const state of ['failed', 'success']) {
    gateway.here.script = request => echo(request, state)
    const { json } = await gateway.create()
    const done = JSON.stringify(await gateway.reach(String(json.task_id), state))
    t.match(done, /\*{20,}/)
    t.notMatch(done, 'sk-upstream')
  }
})

t.test('task: shows the reason of an upstream that refuses the submit', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = () => ({ status: 400, json: { reason: 'FieldInvalid', message: 'no' } })
  const { json } = await gateway.create()
  const done = await gateway.reach(String(json.task_id), 'failed')
  t.equal(done.err_code, 'FieldInvalid')
  t.equal(await gateway.spent(), 0n)
})

t.test('task: hides that the operator has no credit at the upstream', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = () => ({ status: 400, json: { reason: 'CreditInsufficient' } })
  const { json } = await gateway.create()
  const done = await gateway.reach(String(json.task_id), 'failed')
  t.equal(done.err_code, 'InternalServiceFailure')
})

t.test('task: a refused key fails the task that has it, and rests for the next ones', async t => {
  const gateway = await startTasks(t)
  const normal = statesOf('success')
  let refused: string | undefined
  gateway.here.script = (request, count) => {
    refused ??= request.key
    return request.key === refused ? { status: 401, json: {} } : normal(request, count)
  }
  const { json } = await gateway.create()
  const done = await gateway.reach(String(json.task_id), 'failed')
  t.equal(done.err_code, 'InternalServiceFailure')
  t.equal(await gateway.spent(), 0n)
  for (let task = 0; task < 3; task++) {
    const next = await gateway.create()
    await gateway.reach(String(next.json.task_id), 'success')
  }
  t.equal(gateway.requests.filter(({ key }) => key === refused).length, 1)
  t.same(await gateway.findings(), [])
})

t.test('task: retry_on and fallback of its model never create it twice', async t => {
  const again = { to: 'vd/viduagain', retry_on: [500], fallback: 'clip', price: { seconds: 1 } }
  const gateway = await startTasks(t, 'sqlite', {}, {}, [], {
    again: { ...again, max_calls: { seconds: 16 } },
  })
  gateway.here.script = () => ({ status: 500 })
  const { json } = await gateway.create({ model: 'again' })
  const [row] = await eventually(async () => {
    const rows = await gateway.rows("SELECT state FROM tasks WHERE state = 'unknown'")
    return rows.length > 0 && rows
  })
  t.ok(row, String(json.task_id))
  t.same(
    gateway.requests.map(({ method, body }) => `${method} ${(body as { model: string }).model}`),
    ['POST viduagain'],
  )
})

t.test('task: is submitted again after 429, with one create that counts', async t => {
  const gateway = await startTasks(t)
  const normal = statesOf('success')
  gateway.here.script = (request, count) =>
    request.method === 'POST' && count < 3 ? { status: 429 } : normal(request, count)
  const { json } = await gateway.create()
  await gateway.reach(String(json.task_id), 'success')
  t.equal(gateway.requests.filter(({ method }) => method === 'POST').length, 3)
  t.equal(await gateway.spent(), PRICE)
})

for (const [what, answer] of [
  ['a lost answer', { cut: true }],
  ['an answer of 500', { status: 500 }],
  ['an answer without an id', { json: {} }],
] as const)
  t.test(`task: is unknown after ${what}, keeps its hold, and is never sent again`, async t => {
    const gateway = await startTasks(t, 'sqlite', { unknown_after: 'hold' })
    gateway.here.script = () => answer
    const { json } = await gateway.create()
    await gateway.reach(String(json.task_id), 'processing')
    await new Promise(resolve => setTimeout(resolve, 300))
    const [row] = await gateway.rows('SELECT state, due, process FROM tasks')
    t.match(row, { state: 'unknown', due: null, process: null })
    t.equal(gateway.requests.length, 1)
    t.same(await gateway.findings(), [])
    const [hold] = await gateway.rows("SELECT held FROM charges WHERE state = 'open'")
    t.equal(BigInt(Number(hold?.held)), PRICE)
  })

t.test('task: fails at its deadline and costs nothing', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = statesOf('processing')
  const { create, reach } = await gateway.worker()
  const { json } = await create()
  await reach(String(json.task_id), 'processing')
  await gateway.database.write([
    { sql: { name: 'late', text: 'UPDATE tasks SET deadline = 1' }, values: [] },
  ])
  t.equal((await gateway.reach(String(json.task_id), 'failed')).err_code, 'Timeout')
  t.equal(await gateway.spent(), 0n)
})

t.test('task: belongs to its account', async t => {
  const gateway = await startTasks(t)
  const { json } = await gateway.create()
  const other = await gateway.query(String(json.task_id), '2')
  const unknown = await gateway.query('1', '2')
  for (const answer of [other, unknown]) {
    t.equal(answer.status, 404)
    t.match(answer.json, { code: 404, reason: 'TaskNotFound', message: 'task not found' })
  }
})

t.test('task: can be cancelled until the upstream works on it', async t => {
  const gateway = await startTasks(t)
  let state = 'queueing'
  gateway.here.script = ({ method, path }) => {
    if (path.endsWith('/cancel')) return { json: {} }
    return { json: method === 'POST' ? { task_id: 'up' } : { state, creations: [] } }
  }
  const { json } = await gateway.create()
  const id = String(json.task_id)
  await gateway.reach(id, 'queueing')
  // A poll may have the task at this moment: then the client tries again.
  let cancelled = await gateway.call('POST', `/tasks/${id}/cancel`)
  for (let attempts = 20; cancelled.status === 400 && attempts > 0; attempts--) {
    await new Promise(resolve => setTimeout(resolve, 30))
    cancelled = await gateway.call('POST', `/tasks/${id}/cancel`)
  }
  t.equal(cancelled.status, 200)
  t.match(await gateway.reach(id, 'failed'), { err_code: 'UserCancelled' })
  t.equal(await gateway.spent(), 0n)
  t.same(await gateway.findings(), [])
  const again = await gateway.call('POST', `/tasks/${id}/cancel`)
  t.equal(again.status, 400)
  t.match(again.json, { reason: 'BadRequest', message: 'task state is failed, can not cancel' })
  state = 'processing'
  const second = String((await gateway.create()).json.task_id)
  await gateway.reach(second, 'processing')
  t.equal((await gateway.call('POST', `/tasks/${second}/cancel`)).status, 400)
})

t.test('task: goes on after a cancel that could not be written', async t => {
  const gateway = await startTasks(t)
  await runCommand(gateway, 'pause', ['vd'])
  const id = String((await gateway.create()).json.task_id)
  // Its hold cannot be released.
  await gateway.change(`UPDATE tasks SET hold = replace(hold, '"request":"', '"request":"no-')`)
  t.not((await gateway.call('POST', `/tasks/${id}/cancel`)).status, 200)
  await gateway.change(`UPDATE tasks SET hold = replace(hold, '"request":"no-', '"request":"')`)
  await eventually(async () => {
    const [row] = await gateway.rows('SELECT process FROM tasks')
    return row?.process === null || undefined
  })
  t.equal(gateway.requests.length, 0, 'the upstream is still paused')
  await runCommand(gateway, 'resume', ['vd'])
  await gateway.reach(id, 'success')
  t.same(await gateway.findings(), [])
})

t.test('tasks: are listed in pages, the latest first', async t => {
  const gateway = await startTasks(t)
  const ids: string[] = []
  for (let index = 0; index < 5; index++) ids.push(String((await gateway.create()).json.task_id))
  const page = async (query: string) => (await gateway.call('GET', `/tasks?${query}`)).json
  const first = await page('pager.pagesz=3')
  const idsOf = (list: unknown) => (list as { id: string }[]).map(({ id }) => id)
  t.same(idsOf(first.tasks), ids.toReversed().slice(0, 3))
  const second = await page(`pager.pagesz=3&pager.page_token=${first.next_page_token}`)
  t.same(idsOf(second.tasks), ids.toReversed().slice(3))
  t.equal(second.next_page_token, '')
  for (const [query, reason] of [
    ['pager.pagesz=101', 'PageSizeOutOfRange'],
    ['pager.page=x', 'FieldInvalid'],
    ['created_at.from=never', 'FieldInvalid'],
  ])
    t.match(await page(query ?? ''), { code: 400, reason })
})

t.test('task: a query waits for the next state', async t => {
  const gateway = await startTasks(t)
  const creations = [{ id: '1', url: 'https://files.example/1' }]
  gateway.here.script = ({ method }) =>
    method === 'POST' ? { json: { task_id: 'up' } } : { json: { state: 'success', creations } }
  const { json } = await gateway.create()
  let state = String(json.state)
  for (let attempts = 10; state !== 'success' && attempts > 0; attempts--)
    state = String(
      (await gateway.call('GET', `/tasks/${json.task_id}/creations?wait=5`)).json.state,
    )
  t.equal(state, 'success')
})

t.test('task: a query waits for longer than a stage may take', async t => {
  const limit = Math.min(scaled(1_000), 20_000)
  const gateway = await startTasks(t, 'sqlite', {}, { timeouts: { stage: `${limit}ms` } })
  const { json } = await gateway.create()
  const id = String(json.task_id)
  await gateway.reach(id, 'queueing')
  const states = statesOf('queueing', 'success')
  // A stage is ended half a second after its time at the latest.
  const end = Date.now() + limit + 1_000
  gateway.here.script = (request, count) =>
    Date.now() < end ? { json: { state: 'queueing' } } : states(request, count)
  const { status, json: result } = await gateway.call('GET', `/tasks/${id}/creations?wait=60`)
  t.same([status, result.state], [200, 'success'])
})

t.test('task: a query that waits for no whole number of 1 to 60 seconds is refused', async t => {
  const gateway = await startTasks(t)
  const { json } = await gateway.create()
  for (const wait of ['', '0', '61', '1e1', '1.5', '-1', 'soon', '060'])
    t.match(await gateway.call('GET', `/tasks/${json.task_id}/creations?wait=${wait}`), {
      status: 400,
      json: { code: 400, reason: 'FieldInvalid', message: 'invalid field: wait' },
    })
  t.equal((await gateway.call('GET', `/tasks/${json.task_id}/creations?wait=60`)).status, 200)
})

t.test('task: one too many for an account is refused before anything is held', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = statesOf('processing')
  const { create } = await gateway.worker({ open: 2 })
  await create()
  await create()
  const refused = await create()
  t.equal(refused.status, 429)
  t.match(refused.json, { reason: 'QuotaExceeded' })
  const [open] = await gateway.rows("SELECT count(*) AS n FROM charges WHERE state = 'open'")
  t.equal(Number(open?.n), 2)
})

t.test('tasks: two processes share the work and none is submitted twice', async t => {
  const gateway = await startTasks(t, 'postgres')
  const other = await gateway.worker()
  const creates = await Promise.all(
    Array.from({ length: 40 }, (_, index) => (index % 2 ? gateway : other).create()),
  )
  for (const { json } of creates) await gateway.reach(String(json.task_id), 'success')
  t.equal(gateway.requests.filter(({ method }) => method === 'POST').length, 40)
  t.equal(await gateway.spent(), 40n * PRICE)
  t.same(await gateway.findings(), [])
  const keys = new Map<string, Set<string>>()
  for (const { path, key, method } of gateway.requests)
    if (method === 'GET') keys.set(path, (keys.get(path) ?? new Set()).add(key))
  t.ok(
    [...keys.values()].every(({ size }) => size === 1),
    'every poll has one key',
  )
})

t.test('tasks: finished ones are deleted when their time is over, open ones stay', async t => {
  const gateway = await startTasks(t)
  const finished = String((await gateway.create()).json.task_id)
  await gateway.reach(finished, 'success')
  gateway.here.script = statesOf('processing')
  const open = String((await gateway.create()).json.task_id)
  const text = 'UPDATE tasks SET expires = 1'
  await gateway.database.write([{ sql: { name: text, text }, values: [] }])
  await deleteExpiredTasks(gateway.database)
  t.equal((await gateway.query(finished)).status, 404)
  t.equal((await gateway.query(open)).status, 200)
})

for (const engine of ENGINES)
  t.test(`task on ${engine}: is created once for an Idempotency-Key`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = statesOf('processing')
    const headers = { 'idempotency-key': 'order-7' }
    const first = await gateway.create({}, headers)
    t.equal(first.status, 200)
    const again = await gateway.create({}, headers)
    t.same([again.status, again.json], [200, first.json])
    t.equal((await gateway.create({ duration: 6 }, headers)).status, 422)
    const [rows] = await gateway.rows('SELECT count(*) AS n FROM tasks')
    t.equal(Number(rows?.n), 1)
    t.not(
      (await gateway.create({}, { 'idempotency-key': 'order-8' })).json.task_id,
      first.json.task_id,
    )
    t.same(await gateway.findings(), [])
  })

t.test(
  'task: ends with its create where the upstream answers at once and the create waits',
  async t => {
    const submit = { id: '/task_id', results: '/file_url' }
    const gateway = await startTasks(t, 'sqlite', { submit, wait: '10s' })
    gateway.here.script = ({ method }) =>
      method === 'POST'
        ? { json: { task_id: 'up', state: 'success', file_url: 'https://files.example/a.mp3' } }
        : { status: 500 }
    const { create, query } = gateway
    const { status, json } = await create({}, { 'idempotency-key': 'speech' })
    t.equal(status, 200)
    t.match(json, { state: 'success' })
    t.match((await query(String(json.task_id))).json.creations, [
      { url: 'https://files.example/a.mp3' },
    ])
    t.equal(await gateway.spent(), PRICE)
    t.same(await gateway.findings(), [])
    const again = await create({}, { 'idempotency-key': 'speech' })
    t.same(again.json, json, 'the answer is stored')
  },
)

t.test('task: a create that waits too long shows the state of its task', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = statesOf('processing')
  const { create } = await gateway.worker({ wait: '1s' })
  t.match((await create()).json.state, /^(?:created|queueing|processing)$/)
})

t.test('task: is cancelled at the upstream after the deadline of its kind', async t => {
  const poll = { ...POLL, deadline: { default: `${scaled(300)}ms`, off_peak: '48h' } }
  const gateway = await startTasks(t, 'sqlite', { poll })
  const { create } = gateway
  gateway.here.script = statesOf('queueing')
  const slow = String((await create({ off_peak: true })).json.task_id)
  const fast = String((await create()).json.task_id)
  t.match(await gateway.reach(fast, 'failed'), { err_code: 'Timeout' })
  t.match((await gateway.query(slow)).json, { state: 'queueing' })
  const cancels = () => gateway.requests.filter(({ path }) => path.endsWith('/cancel')).length
  await eventually(() => cancels() > 0)
  t.equal(cancels(), 1)
})
