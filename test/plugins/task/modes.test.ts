/** Modes: at most so many tasks at the upstream over all processes, the order of those that wait,
 *  and the figures of /mj/speed. */
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import t from 'tap'
import type { Sql } from '../../../engine/plugin.ts'
import { translate } from '../../../engine/store/postgres/dialect.ts'
import { PROCESSES_TABLE } from '../../../engine/store/while-registered.ts'
import task from '../../../plugins/task/index.ts'
import {
  admit,
  MODE_COUNTS,
  MODE_MEAN,
  WAITING_MODES,
} from '../../../plugins/task/modes/statements.ts'
import { pauseUpstream } from '../../../plugins/task/statements.ts'
import { migrations } from '../../../plugins/task/tables.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { ENGINES, startAnyStore, statement } from '../../helpers/store/store.ts'
import { accepted, fetched, imageClient, imageRoutes, startImages } from './image-gateway.ts'
import { runCommand, startTasks } from './task-gateway.ts'

/** Tasks of the test with two processes. */
const COUNT = 9

type Gateway = Awaited<ReturnType<typeof startImages>>
/** An upstream that works on each task until the test finishes it. */
const startManual = (gateway: Gateway) => {
  /** Ids of unfinished tasks, and the most of them at a time. */
  const open = new Set<string>()
  const most = { fast: 0 }
  gateway.here.script = ({ method, path, body }, count) => {
    if (method === 'GET')
      return open.has(path.split('/').at(-2) ?? '')
        ? fetched('IN_PROGRESS')
        : fetched('SUCCESS', { imageUrl: 'https://files.example/1' })
    const id = `${body.prompt}-${count}`
    open.add(id)
    most.fast = Math.max(most.fast, open.size)
    return accepted(id)
  }
  const prompts = () => [...open].map(id => id.replace(/-\d+$/, ''))
  return {
    most,
    /** Resolves when the upstream has exactly these. */
    has: (...expected: readonly string[]) =>
      eventually(() => (prompts().toSorted().join() === expected.join() ? true : undefined)),
    prompts,
    finish(prompt: string) {
      for (const id of open) if (id.startsWith(`${prompt}-`)) open.delete(id)
    },
  }
}
const speedOf = (gateway: Gateway, state: string) =>
  eventually(async () => {
    const figures = await gateway.speed()
    return figures.state === state ? figures : undefined
  })

for (const engine of ENGINES)
  t.test(`mode on ${engine}: two processes give the upstream no more than its limit`, async t => {
    const gateway = await startImages(t, engine, { fast: 3, turbo: 1, relax: 1 })
    const other = imageClient((await gateway.worker()).gatewayUrl)
    const upstream = startManual(gateway)
    const prefixes = ['', '/mj-fast']
    const ids = await Promise.all(
      Array.from({ length: COUNT }, (_, index) =>
        (index % 2 ? gateway : other).imagine(`image ${index}`, {}, prefixes[index % 3 ? 0 : 1]),
      ),
    )
    t.same(new Set(ids).size, COUNT)
    let finished = 0
    await eventually(async () => {
      for (const prompt of upstream.prompts()) {
        upstream.finish(prompt)
        finished++
      }
      return finished === COUNT || undefined
    })
    for (const id of ids) await gateway.reach(id, 'SUCCESS')
    t.equal(upstream.most.fast, 3, 'as many as allowed, and never more')
    t.equal(gateway.requests.filter(({ method }) => method === 'POST').length, COUNT)
    t.same(await gateway.findings(), [])
    t.notMatch(gateway.lines.join('\n'), /could not be moved on|deadlock/)
  })

t.test('mode: two processes that admit at once find the same room once', async t => {
  const store = await startAnyStore(t, 'postgres')
  const database = await store.open()
  await makeLedger(database)
  await database.migrate('task', migrations)
  for (const [id, upstream] of [
    ['0', 'paused'],
    ['1', 'vd'],
    ['2', 'vd'],
    ['3', 'vd'],
  ] as const)
    await database.write([
      statement(
        'waiting task',
        `INSERT INTO tasks (id, account, request, route, path, model, version, state, body, slots, target,
           upstream, created, changed, deadline, expires, mode, waiting)
         VALUES (?, 1, ?, 'r', '/', 'm', 1, 'accepted', '{}', '{}', '{}', ?, 1, 1, 9, 9, 'fast', 1)`,
        [id, id, upstream],
      ),
      pauseUpstream('paused', 1),
    ])
  // The results of this one are copied: the upstream has finished it.
  const copied = `INSERT INTO tasks SELECT (jsonb_populate_record(t, '{"id": "4", "request": "4",
    "state": "running", "upstream": "vd", "copy_due": 1, "waiting": null}')).* FROM tasks t WHERE id = '0'`
  await database.write([statement('copied task', copied)])
  const client = new pg.Client({ connectionString: store.options.url })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN')
  for (const { sql, values } of admit('fast', 1, 5))
    await client.query({ text: translate(sql.postgres ?? sql.text).text, values: [...values] })
  const other = database.write(admit('fast', 1, 6))
  const blocked = `SELECT 1 AS yes FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
  const waits = eventually(async () => (await client.query(blocked)).rows[0])
  await Promise.race([waits, other])
  await client.query('COMMIT')
  await other
  t.same(await database.read(MODE_COUNTS, [1]), [
    { mode: 'fast', room: 1, accepted: 1, waiting: 3 },
  ])
  const admitted = "SELECT id, due FROM tasks WHERE waiting IS NULL AND state = 'accepted'"
  t.same(
    await database.read({ name: 'admitted', text: admitted }, []),
    [{ id: '1', due: 5 }],
    'the oldest whose upstream is not paused',
  )
})

t.test('mode: begins those that wait in their order, beside other modes', async t => {
  const gateway = await startImages(t, 'sqlite', { fast: 2, turbo: 1 })
  const upstream = startManual(gateway)
  const ids = new Map<string, string>()
  for (const name of ['a', 'b', 'c', 'd']) ids.set(name, await gateway.imagine(name))
  await upstream.has('a', 'b')
  t.match(await speedOf(gateway, 'busy'), { running: 2, queued: 2, capacity: null })
  await gateway.imagine('t', {}, '/mj-turbo')
  await gateway.imagine('r', {}, '/mj-relax')
  await upstream.has('a', 'b', 'r', 't')
  t.match(await gateway.fetchTask(ids.get('c') ?? ''), { status: 'NOT_START', startTime: null })
  // As a process does with a task whose cancel it could not write.
  await gateway.change(`UPDATE tasks SET due = 1 WHERE id = '${ids.get('d')}'`)
  upstream.finish('b')
  await upstream.has('a', 'c', 'r', 't')
  upstream.finish('a')
  await upstream.has('c', 'd', 'r', 't')
  t.same(await gateway.findings(), [])
})

t.test('/mj/speed: has the figures of the queue', async t => {
  const gateway = await startImages(t, 'sqlite', { fast: 2, turbo: 1, relax: 1 })
  const { status, json } = await gateway.call('GET', '/mj/speed')
  t.equal(status, 200)
  const { updated_at: updatedAt, ...result } = json.result as Record<string, unknown>
  t.same(
    { ...json, result },
    {
      code: 1,
      description: '成功',
      result: {
        state: 'normal',
        running: 0,
        queued: 0,
        capacity: 4,
        speed: { fast: null, turbo: null, relax: null },
      },
    },
  )
  t.ok(Math.abs(Number(updatedAt) - Date.now()) < 60_000)
  const upstream = startManual(gateway)
  await gateway.imagine('f1')
  t.match(await gateway.speed(), { state: /normal|busy/, capacity: 4 })
  for (const name of ['f2', 'f3']) await gateway.imagine(name)
  await upstream.has('f1', 'f2')
  t.match(await gateway.speed(), { state: 'busy', running: 2, queued: 1 })
  await gateway.imagine('t1', {}, '/mj-turbo')
  await gateway.imagine('r1', {}, '/mj-relax')
  await upstream.has('f1', 'f2', 'r1', 't1')
  t.match(await gateway.speed(), { state: 'full', running: 4, queued: 1, capacity: 4 })
  for (const name of ['f1', 'f2', 't1']) upstream.finish(name)
  await upstream.has('f3', 'r1')
  upstream.finish('f3')
  await speedOf(gateway, 'busy')
  upstream.finish('r1')
  t.match(await speedOf(gateway, 'normal'), { running: 0, queued: 0 })
})

for (const engine of ENGINES)
  t.test(`/mj/speed on ${engine}: is the mean of the last 50 tasks of each mode`, async t => {
    const gateway = await startImages(t, engine, {})
    gateway.here.script = ({ method }) =>
      method === 'POST' ? accepted('up') : fetched('SUCCESS', { imageUrl: 'https://a.example/1' })
    await gateway.reach(await gateway.imagine('a cat'), 'SUCCESS')
    // Copies that took 1 s, 2 s, … 60 s, the slowest last; and tasks that do not count.
    const copy = (id: string, members: Readonly<Record<string, string | number>>) => {
      const columns = ['account', 'route', 'dialect', 'path', 'model', 'version', 'body', 'slots']
      const copied = [...columns, 'target', 'upstream', 'created', 'deadline', 'expires'].join()
      const names = Object.keys(members).join()
      const values = Object.values(members).map(value =>
        typeof value === 'number' ? value : `'${value}'`,
      )
      return gateway.change(
        `INSERT INTO tasks (id, request, ${names}, ${copied})
         SELECT '${id}', '${id}', ${values.join()}, ${copied} FROM tasks WHERE mode = 'fast' AND hold IS NOT NULL`,
      )
    }
    const at = Date.now() + 1_000_000
    const done = { mode: 'fast', state: 'succeeded', started: at }
    for (let second = 1; second <= 60; second++)
      await copy(`copy ${second}`, { ...done, changed: at + second * 1_000 })
    const late = at + 9_000_000
    await copy('failed', { ...done, state: 'failed', changed: late })
    await copy('late', { ...done, late: 1, changed: late })
    await copy('other', { ...done, mode: 'turbo', changed: at + 1_234 })
    const { speed } = await gateway.speed()
    t.same(speed, { fast: 35.5, turbo: 1.2, relax: null })
  })

t.test('mode: a task that waits fails at its deadline, or is cancelled', async t => {
  const gateway = await startImages(t, 'sqlite', { fast: 1 })
  const upstream = startManual(gateway)
  await gateway.imagine('a')
  await upstream.has('a')
  const [late, cancelled] = [await gateway.imagine('b'), await gateway.imagine('c')]
  await gateway.change(`UPDATE tasks SET deadline = 1, due = 2 WHERE id = '${late}'`)
  t.match(await gateway.reach(late, 'FAILURE'), { failReason: /not be submitted in time/ })
  await runCommand(gateway, 'cancel', [cancelled])
  t.match(await gateway.fetchTask(cancelled), { failReason: 'an operator ended this task' })
  const last = await gateway.imagine('d')
  upstream.finish('a')
  await gateway.reach(last, 'IN_PROGRESS')
  t.same(upstream.prompts(), ['d'])
  t.same(await gateway.findings(), [])
})

t.test(
  'mode: a lost submit counts until its deadline, a busy upstream keeps its order',
  async t => {
    const gateway = await startImages(t, 'sqlite', { fast: 1 })
    let refusals = 3
    const submits: unknown[] = []
    gateway.here.script = ({ method, body: { prompt } }) => {
      if (method === 'GET') return fetched('IN_PROGRESS')
      submits.push(prompt)
      if (prompt === 'lost') return { cut: true }
      return refusals-- > 0 ? { json: { code: 23, description: '队列已满' } } : accepted('up')
    }
    const lostTask = await gateway.imagine('lost')
    await gateway.reach(lostTask, 'IN_PROGRESS')
    await gateway.imagine('a')
    await gateway.imagine('b')
    t.match(await speedOf(gateway, 'busy'), { running: 1, queued: 2 })
    t.same(submits, ['lost'])
    await gateway.change(`UPDATE tasks SET deadline = 1 WHERE id = '${lostTask}'`)
    await eventually(() => submits.length === 5 || undefined)
    t.same(submits, ['lost', 'a', 'a', 'a', 'a'], 'the next one does not overtake')
  },
)

t.test('mode: a limit that is removed or raised lets those that wait begin', async t => {
  const gateway = await startImages(t, 'sqlite', { fast: 1, relax: 1 })
  const upstream = startManual(gateway)
  for (const name of ['a', 'b', 'c']) await gateway.imagine(name)
  for (const name of ['r', 's', 't']) await gateway.imagine(name, {}, '/mj-relax')
  await upstream.has('a', 'r')
  t.same(await gateway.database.read(WAITING_MODES, [Date.now()]), [
    { mode: 'fast', room: 1 },
    { mode: 'relax', room: 1 },
  ])
  // Another process has the new configuration.
  await gateway.worker({}, imageRoutes({ relax: 2 }))
  await upstream.has('a', 'b', 'c', 'r', 's')
})

t.test('mode: is named by its routes, or is the route where only running is set', async t => {
  const gateway = await startTasks(t, 'sqlite', { running: 1 })
  gateway.here.script = ({ method }, count) =>
    method === 'POST'
      ? { json: { task_id: `up-${count}` } }
      : { json: { state: 'processing', creations: [] } }
  const first = String((await gateway.create()).json.task_id)
  await gateway.create()
  await gateway.reach(first, 'processing')
  const rows = await gateway.rows('SELECT mode, state FROM tasks ORDER BY created, id')
  t.same(rows, [
    { mode: 'POST /ent/v2/text2video', state: 'running' },
    { mode: 'POST /ent/v2/text2video', state: 'accepted' },
  ])
  const problems: string[] = []
  const create = (mode: string | undefined, running?: number) => ({
    dialect: 'vidu',
    mode,
    running,
  })
  const routes = [
    { path: 'POST /a', task: create('fast', 3) },
    { path: 'POST /b', task: create('fast') },
    { path: 'POST /c', name: 'c', task: create(undefined, 4) },
    { path: 'POST /d', task: create('c', 5) },
    { path: 'POST /e', task: create('fast', 2) },
  ]
  const document = { upstreams: {}, routes } as unknown as Parameters<typeof task.check>[0]
  task.check(document, (where, code, message) =>
    problems.push(`${where.join('.')} ${code} ${message}`),
  )
  t.same(problems, [
    'routes.3.task.running MODE_LIMIT another route limits the mode "c" to 4',
    'routes.4.task.running MODE_LIMIT another route limits the mode "fast" to 3',
  ])
})

t.test('mode: what each process reads twice a second is in an index of open tasks', async t => {
  const database = new DatabaseSync(':memory:')
  database.exec(`CREATE TABLE ${PROCESSES_TABLE} (id TEXT PRIMARY KEY)`)
  for (const { text } of migrations) database.exec(text)
  const planOf = ({ text }: Sql): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${text.replaceAll('?', '1')}`)
      .all()
      .map(({ detail }) => detail)
      .join('\n')
  t.match(planOf(MODE_COUNTS), /COVERING INDEX tasks_mode\b/)
  t.match(planOf(WAITING_MODES), /SEARCH t USING COVERING INDEX tasks_mode \(mode>\?\)/)
  t.notMatch(planOf(WAITING_MODES), /SCAN tasks/)
  t.match(planOf(MODE_MEAN), /SEARCH tasks USING INDEX tasks_mode_done/)
  for (const { sql } of admit('fast', 1, 1).slice(1)) {
    t.match(planOf(sql), /COVERING INDEX tasks_mode\b/)
    t.notMatch(planOf(sql), /SCAN tasks/)
  }
})
