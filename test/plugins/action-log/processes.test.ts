/** Processes that act at once and are killed at any instant, on both stores: their actions are one
 *  chain, and no change is without its row, no row without its change. */
import { once } from 'node:events'
import t from 'tap'
import { forkProgram } from '../../helpers/operator.ts'
import { openAccountsIn } from '../../helpers/store/accounts.ts'
import { actionsIn, hostWith, verify } from '../../helpers/store/actions.ts'
import { makeLedger } from '../../helpers/store/membership.ts'
import { sql, startBoth } from '../../helpers/store/store.ts'

const PROCESSES = ['a', 'b', 'c']
const ROUNDS = 4
const PROGRAM = new URL('./acting-process.ts', import.meta.url)

for (const { engine, store, database } of await startBoth(t, []))
  t.test(`actions on ${engine}: of processes that are killed are one chain`, async t => {
    await openAccountsIn(database)
    await makeLedger(database)
    const host = hostWith(database, { key: 'k'.repeat(32) })
    const acknowledged: string[] = []
    for (let round = 1; round <= ROUNDS; round++)
      await Promise.all(
        PROCESSES.map(async name => {
          const options = JSON.stringify({ writeTimeout: 30_000, ...store.options })
          const child = forkProgram(PROGRAM, [options, `${name}${round}`])
          let created = 0
          child.on('message', message => {
            acknowledged.push(String(message))
            // Each is killed after another number of actions, while it runs the next.
            if (++created === round * 2) child.kill('SIGKILL')
          })
          await once(child, 'exit')
        }),
      )
    const names = (
      await database.read(sql('names', 'SELECT name FROM accounts ORDER BY name'), [])
    ).map(({ name }) => String(name))
    const rows = await actionsIn(host)
    t.ok(acknowledged.length >= ROUNDS * PROCESSES.length)
    t.same(
      acknowledged.filter(name => !names.includes(name)),
      [],
      'what was acknowledged is there',
    )
    t.same(
      rows.map(({ object }) => object.replace('account ', '')).toSorted(),
      names.toSorted(),
      'a row for each account, an account for each row',
    )
    t.same(
      rows.map(({ seq }) => seq),
      rows.map((_, at) => rows.length - at),
      'one sequence',
    )
    t.match(await verify(host), { intact: true, rows: rows.length })
  })
