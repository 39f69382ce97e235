/** The lock of an embedded store: its file belongs to the owner of the folder, whoever makes it. */
import { chownSync, statSync } from 'node:fs'
import t from 'tap'
import { openLock } from '../../../../engine/store/sqlite/store-lock.ts'

const NOBODY = 65_534
const skip = process.getuid?.() !== 0 && 'only root gives files away'

t.test('store lock: one that root makes belongs to the owner of the folder', { skip }, async t => {
  const folder = t.testdir({})
  chownSync(folder, NOBODY, NOBODY)
  const lock = openLock(`${folder}/gateway`)
  t.teardown(() => lock.close())
  t.equal(lock.take(), true)
  const { uid, gid, mode } = statSync(`${folder}/gateway.lock`)
  t.same({ uid, gid, mode: mode & 0o777 }, { uid: NOBODY, gid: NOBODY, mode: 0o600 })
})
