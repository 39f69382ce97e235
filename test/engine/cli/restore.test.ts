/** `tollgate restore`: puts a backup back after an audit; refuses what would lose data. */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { withPluginCommands } from '../../../engine/cli/plugin-commands.ts'
import { migratedDatabase } from '../../../engine/cli/store/store-audit.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { recordingTerminal, tollgate, withOutput } from '../../helpers/gateway/command-line.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'
import { seededStore } from './seeded-store.ts'

const PLUGINS = fileURLToPath(new URL('../../../plugins', import.meta.url))
const FILE = `file-${'0'.repeat(30)}e0`
const CONFIG = fileURLToPath(new URL('small.yaml', import.meta.url))

t.test('restore: a backup replaces the store, which is kept beside it', async t => {
  const dataFolder = await seededStore(t, CONFIG, { accounts: 3, charges: 20 })
  const env = { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG }
  const file = `${dataFolder}/../monday.db`
  t.match(await tollgate(['backup', file], env, 0), {
    code: 0,
    err: /^copied: (\d+) of \1 bytes$/m,
  })
  t.match(await tollgate(['audit', 'ledger'], env, 0), {
    err: /^audited: (\d+) of \1 wallets$/m,
  })
  t.match((await withOutput(t, ['export', 'ledger'], env, 0)).err, 'exported: 23 of 23 entries')
  t.match(await tollgate(['accounts', 'create', 'later'], env), { code: 0 })
  t.match(await tollgate(['restore', file], env), { code: 3, err: /has data.*--replace/ })
  const result = await tollgate(['restore', file, '--replace'], env)
  t.match(result, { code: 0, out: /restored from .*the audit passed\nthe previous store is/ })
  const { out } = await tollgate(['accounts', 'list'], env)
  t.match(out, /account 3/)
  t.notMatch(out, /later/, 'the store is that of the backup')
  const previous = readdirSync(dataFolder).find(name => /\.before-.*Z$/.test(name)) ?? ''
  const store = new DatabaseSync(`${dataFolder}/${previous}`, { readOnly: true })
  t.match(store.prepare("SELECT name FROM accounts WHERE name = 'later'").get(), { name: 'later' })
  store.close()
  t.notOk(readdirSync(dataFolder).some(name => name.startsWith('restore-')))
})

t.test(
  'restore: where there is no store; damaged and unbalanced backups change nothing',
  async t => {
    const from = await seededStore(t, CONFIG, { accounts: 2, charges: 5 })
    const file = `${from}/../copy.db`
    t.match(await tollgate(['backup', file], { TOLLGATE_DATA: from, TOLLGATE_CONFIG: CONFIG }), {
      code: 0,
    })
    const env = { TOLLGATE_DATA: usedFolder(`${from}/../empty`), TOLLGATE_CONFIG: CONFIG }
    const store = `${from}/../empty/tollgate.db`
    t.match(await tollgate(['restore', `${file}.no`], env), { code: 3, err: /there is no file/ })
    const noStore = `${from}/../no-store.txt`
    writeFileSync(noStore, 'text '.repeat(1_000))
    t.match(await tollgate(['restore', noStore], env), {
      code: 3,
      err: /no-store\.txt is not a backup of a store: .*not a database.*Nothing was restored\.$/,
    })
    const wrong = `${from}/../wrong.db`
    copyFileSync(file, wrong)
    const open = new DatabaseSync(wrong)
    open.exec('UPDATE wallets SET used = used + 1 WHERE id = 2')
    open.close()
    t.match(await tollgate(['restore', wrong], env), {
      code: 1,
      err: /used = sum of charges less refunds[\s\S]*nothing was restored/,
    })
    writeFileSync(wrong, 'no database')
    t.match(await tollgate(['restore', wrong], env), { code: 3 })
    t.notOk(existsSync(store))
    t.match(await tollgate(['restore', file], env), { code: 0 })
    t.match(await tollgate(['audit', 'ledger'], env), { code: 0 })
  },
)

t.test('restore: refuses PostgreSQL and a running gateway', async t => {
  const folder = t.testdir({ 'a.db': '' })
  const env = { TOLLGATE_DATA: `${folder}/data`, TOLLGATE_CONFIG: CONFIG }
  t.match(await tollgate(['restore', 'x'], { ...env, DATABASE_URL: 'postgres://me@host/x' }), {
    code: 2,
    err: /pg_restore/,
  })
  // The answer of the admin listener of a gateway with this process id.
  const pid = process.pid + 1
  const url = await startHttpUpstream(t, (_, response) => response.end(JSON.stringify({ pid })))
  mkdirSync(`${folder}/data`)
  writeFileSync(`${folder}/data/tollgate.db`, '')
  writeFileSync(`${folder}/data/run.json`, JSON.stringify({ pid, url, admin: url }))
  const refusal = { code: 3, err: /is in use by another gateway/ }
  t.match(await tollgate(['restore', `${folder}/a.db`], env), refusal)
  t.match(await tollgate(['move', '--to', 'postgres://me@127.0.0.1:1/x'], env), refusal)
})

t.test('restore: --files puts back the bytes of stored files too', async t => {
  const root = t.testdir({ copy: { e0: { [FILE]: 'abc' } } })
  const config = `${root}/files.yaml`
  writeFileSync(
    config,
    `settings: { data: ${root}/data, plugins: [${PLUGINS}] }
pipeline: [errors, auth, files]
routes: [{ path: GET /v1/files, auth: key, files: list, errors: openai }]`,
  )
  usedFolder(`${root}/data`)
  // Loading the configuration creates the tables.
  await withPluginCommands(config, recordingTerminal({}), migratedDatabase(), async () => {})
  const store = new DatabaseSync(`${root}/data/tollgate.db`)
  const sha256 = createHash('sha256').update('abc').digest('hex')
  store.exec(`INSERT INTO stored_files
    (id, account, purpose, filename, type, bytes, sha256, created, expires) VALUES
    ('${FILE}', 1, 'assistants', 'a.txt', 'text/plain', 3, '${sha256}', 1, NULL)`)
  store.close()
  const argv = (verb: string, ...rest: string[]) => [verb, '--config', config, ...rest]
  const copy = `${root}/monday.db`
  t.match(await tollgate(argv('backup', copy)), { code: 0 })
  const restore = argv('restore', copy, '--replace', '--files')
  t.match(await tollgate([...restore, `${root}/nowhere`]), { code: 3, err: /there is no folder/ })
  t.match(await tollgate([...restore, `${root}/copy`]), {
    code: 0,
    out: /the audit passed[\s\S]*copied +present +damaged +bytes\s+1 +0 +0 +3/,
  })
  t.equal(readFileSync(`${root}/data/files/e0/${FILE}`, 'utf8'), 'abc')
  t.match(await tollgate([...restore, `${root}/data`]), { code: 0, out: /0 +1 +0 +0/ })
})
