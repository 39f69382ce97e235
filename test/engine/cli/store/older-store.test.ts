/** A command on a store of an earlier version says so, and how its tables get current. */
import t from 'tap'
import { existingDatabase } from '../../../../engine/cli/databases.ts'
import type { Settings } from '../../../../engine/config/settings.ts'
import { MEMBERSHIP_TABLES } from '../../../../engine/store/membership.ts'
import { ENGINES, sql, startAnyStore, statement } from '../../../helpers/store/store.ts'

for (const engine of ENGINES)
  t.test(`commands on ${engine}: a store of an earlier version is named as that`, async t => {
    const { options, open } = await startAnyStore(t, engine)
    const newer = await open()
    await newer.migrate('standing', MEMBERSHIP_TABLES)
    await newer.migrate('test', [{ number: 1, text: 'CREATE TABLE notes (id BIGINT PRIMARY KEY)' }])
    const settings = { database: options.url, data: options.data } as Settings
    const database = existingDatabase({ printError: () => {} })(settings)
    t.teardown(() => database.close())
    t.same(await database.read(sql('notes', 'SELECT id FROM notes'), []), [])
    const older = { code: 'STORE_OLDER', message: /start this version of the gateway on it once/ }
    await t.rejects(database.read(sql('column', 'SELECT text FROM notes'), []), older)
    await t.rejects(database.read(sql('table', 'SELECT id FROM pages'), []), older)
    const text = "INSERT INTO notes (id, text) VALUES (1, 'a')"
    await t.rejects(database.write([statement('insert', text)]), older)
    const twice = statement('twice', 'INSERT INTO notes (id) VALUES (1), (1)')
    await t.rejects(database.write([twice]), { message: /notes/ }, 'other faults stay')
  })
