/** SQLite start checks: refuses settings with which an acknowledged write could be lost. */
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { locate, openDatabase } from '../../../../engine/store/database.ts'
import {
  assertPragmas,
  assertVersion,
  openForWriting,
} from '../../../../engine/store/sqlite/sqlite.ts'
import { forkProgram } from '../../../helpers/operator.ts'
import { temporaryFolder } from '../../../helpers/store/store.ts'

t.test('SQLite start: refuses a version with known data loss', async t => {
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '4.0.0', process.versions.sqlite ?? '']) {
    t.doesNotThrow(() => assertVersion(version), version)
  }
  for (const version of ['3.40.1', '3.51.2', '3.9.0', '2.99.99', '', 'unknown']) {
    t.throws(() => assertVersion(version), {
      code: 'STORE_SQLITE_OLD',
      message: /3\.51\.3 or newer/,
    })
  }
})

t.test('SQLite start: refuses effective pragmas with other values', async t => {
  const good = { journal_mode: 'wal', synchronous: 2, foreign_keys: 1 }
  t.doesNotThrow(() => assertPragmas(good))
  const wrong = [
    { synchronous: 1 },
    { synchronous: 0 },
    { journal_mode: 'delete' },
    { journal_mode: 'memory' },
    { foreign_keys: 0 },
    { synchronous: undefined },
  ]
  for (const change of wrong) {
    const [name] = Object.keys(change)
    t.throws(() => assertPragmas({ ...good, ...change }), {
      code: 'STORE_PRAGMA',
      message: new RegExp(`^SQLite runs with ${name} = .* is needed`),
    })
  }
})

t.test('SQLite durability: power syncs each commit, process does not; both use a WAL', async t => {
  const good = { journal_mode: 'wal', synchronous: 1, foreign_keys: 1 }
  t.doesNotThrow(() => assertPragmas(good, 'process'))
  for (const synchronous of [0, 2])
    t.throws(() => assertPragmas({ ...good, synchronous }, 'process'), { code: 'STORE_PRAGMA' })
  for (const [durability, synchronous] of [
    ['power', 2],
    ['process', 1],
  ] as const) {
    const store = openForWriting(join(temporaryFolder(t), 'x.db'), durability)
    t.match(store.connection.prepare('PRAGMA synchronous').get(), { synchronous })
    store.close()
  }
})

t.test('SQLite start: refuses a database without WAL', async t => {
  t.throws(() => openForWriting(':memory:'), {
    code: 'STORE_PRAGMA',
    message: /journal_mode = memory/,
  })
})

t.test(
  'store URL: symbolic links are followed, also to a file that does not exist yet',
  async t => {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'disk'))
    symlinkSync('disk/x.db', join(folder, 'file.db'))
    symlinkSync(join(folder, 'disk'), join(folder, 'data'))
    symlinkSync('loop.db', join(folder, 'loop.db'))
    const file = join(folder, 'disk', 'x.db')
    const pathsOf = () =>
      ['file.db', 'data/x.db', 'data/../file.db'].map(
        each => locate(`sqlite:${folder}/${each}`).file,
      )
    t.same(pathsOf(), [file, file, file])
    writeFileSync(file, '')
    t.same(pathsOf(), [file, file, file])
    t.equal(locate(`sqlite:${folder}/loop.db`).file, join(folder, 'loop.db'))
  },
)

t.test('store URL: an unsupported one is refused without showing its password', async t => {
  const folder = temporaryFolder(t)
  t.equal(locate('sqlite:', folder).file, join(folder, 'tollgate.db'))
  t.equal(locate('sqlite:/x/y.db', folder).file, '/x/y.db')
  t.equal(locate('sqlite:///x/y.db', folder).file, '/x/y.db')
  t.equal(locate('sqlite:y.db', folder).file, join(process.cwd(), 'y.db'))
  t.equal(locate(locate('sqlite:', folder).url).file, join(folder, 'tollgate.db'))
  for (const url of [
    'mysql://me:secret@host/db',
    'postgres://me:secret@host:port/db',
    'tollgate.db',
    '',
    'sqlite::memory:',
    'sqlite:a?b',
  ]) {
    const error = await openDatabase({ url, data: folder, start: true }).catch(error => error)
    t.equal(error.code, 'STORE_URL', url)
    t.notMatch(error.message, /secret/)
  }
})

const failure = async (t: Test, url: string) => {
  const program = new URL('../../../../engine/store/sqlite/writer.ts', import.meta.url)
  const writer = forkProgram(program, [url])
  const [[message], [code]] = await Promise.all([once(writer, 'message'), once(writer, 'exit')])
  t.equal(code, 3)
  return message
}
t.test('SQLite writer: reports a failed start to its parent and exits', async t => {
  const folder = temporaryFolder(t)
  writeFileSync(
    join(folder, 'text.db'),
    'no database at all, but a file of some length'.repeat(100),
  )
  t.match(await failure(t, `sqlite:${folder}/text.db`), {
    type: 'failed',
    message: 'file is not a database',
  })
  mkdirSync(join(folder, 'folder.db'))
  t.match(await failure(t, `sqlite:${folder}/folder.db`), {
    type: 'failed',
    message: /unable to open/,
  })
  t.match(await failure(t, `sqlite:${folder}/text.db/inner/x.db`), {
    type: 'failed',
    message: /ENOTDIR/,
  })
  t.match(await failure(t, 'postgres://host/db'), { type: 'failed', code: 'STORE_POSTGRES' })
  await t.rejects(openDatabase({ url: `sqlite:${folder}/text.db`, start: true }), {
    code: 'STORE_START',
    message: 'The store could not start: file is not a database',
  })
})

t.test('SQLite writer: fails at once if the lock file cannot be opened', async t => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'x.db.lock'))
  t.match(await failure(t, `sqlite:${folder}/x.db`), { type: 'failed', message: /unable to open/ })
})

t.test('SQLite client: open times out without a writer', async t => {
  await t.rejects(openDatabase({ url: 'sqlite:', data: temporaryFolder(t), openTimeout: 100 }), {
    code: 'STORE_UNAVAILABLE',
  })
})
