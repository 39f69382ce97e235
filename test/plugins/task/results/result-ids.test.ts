/** Results of tasks are found by the ids that they have at their provider, on both stores. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Sql } from '../../../../engine/plugin.ts'
import { PROCESSES_TABLE } from '../../../../engine/store/while-registered.ts'
import { migrations as accountTables } from '../../../../plugins/credentials/tables.ts'
import { FIND_BY_RESULT } from '../../../../plugins/task/statements.ts'
import { migrations } from '../../../../plugins/task/tables.ts'
import { makeLedger } from '../../../helpers/store/membership.ts'
import { ENGINES, startAnyStore, statement } from '../../../helpers/store/store.ts'
import { startTasks, statesOf } from '../task-gateway.ts'

const STORED = 'SELECT result, task FROM task_results ORDER BY result, task'
for (const engine of ENGINES) {
  t.test(`ids of results on ${engine}: stored as a task succeeds, gone with it`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = statesOf('processing', 'success')
    const id = String((await gateway.create()).json.task_id)
    await gateway.reach(id, 'success')
    t.same(await gateway.rows(STORED), [{ result: '1', task: id }])
    gateway.here.script = statesOf('failed')
    await gateway.reach(String((await gateway.create()).json.task_id), 'failed')
    t.same(await gateway.rows(STORED), [{ result: '1', task: id }], 'not of a failed task')
    await gateway.change(`DELETE FROM tasks WHERE id = '${id}'`)
    t.same(await gateway.rows(STORED), [])
  })

  t.test(`ids of results on ${engine}: those of an earlier version are found`, async t => {
    const store = await startAnyStore(t, engine)
    const database = await store.open()
    await makeLedger(database)
    await database.migrate('task', migrations.slice(0, 12))
    const insert = (id: string, state: string, results: object | null) =>
      statement(
        'earlier task',
        `INSERT INTO tasks (id, account, request, route, path, model, version, state, body, slots,
           target, dialect, created, changed, deadline, expires, results)
         VALUES (?, 1, ?, 'r', '/', 'm', 1, ?, '{}', '{}', '{}', 'vidu', 1, 1, 9, 9, ?)`,
        [id, id, state, results && JSON.stringify(results)],
      )
    await database.write([
      insert('1', 'succeeded', [{ id: 'a', url: 'x' }, { id: 'b' }, { id: 'a' }]),
      insert('2', 'succeeded', [{ url: 'x' }, 'text', { id: 5 }]),
      insert('3', 'failed', [{ id: 'c' }]),
      insert('4', 'succeeded', null),
    ])
    await database.migrate('task', migrations)
    t.same(await database.read({ name: 'stored results', text: STORED }, []), [
      { result: 'a', task: '1' },
      { result: 'b', task: '1' },
    ])
  })
}

t.test('ids of results: a lookup reads the tasks with the id alone', t => {
  const database = new DatabaseSync(':memory:')
  database.exec(`CREATE TABLE ${PROCESSES_TABLE} (id TEXT PRIMARY KEY)`)
  for (const { text } of [...accountTables, ...migrations]) database.exec(text)
  const planOf = ({ text }: Pick<Sql, 'text'>): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${text.replaceAll('?', '1')}`)
      .all()
      .map(({ detail }) => detail)
      .join('\n')
  const plan = planOf(FIND_BY_RESULT)
  t.match(plan, /SEARCH task_results USING COVERING INDEX .* \(result=\?\)/)
  t.notMatch(plan, /SCAN tasks/)
  t.end()
})
