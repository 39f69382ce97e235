/** The laws about facts with one owner bite: tables, wallet numbers, options and sections. */
import t from 'tap'
import { optionBreaches } from './options/readers.ts'
import { tableBreaches } from './tables.ts'

const filesOf = (files: Readonly<Record<string, string>>) =>
  Object.entries(files).map(([path, text]) => ({ path, text }))
const LEDGER = {
  'plugins/ledger/tables.ts':
    'const TABLES = `CREATE TABLE wallets (id BIGINT); CREATE TABLE credits (id BIGINT)`',
  'engine/store/members.ts':
    "const TABLE = 'CREATE TABLE IF NOT EXISTS tollgate_processes (id TEXT)'",
}
const tables = (path: string, text: string) =>
  tableBreaches(filesOf({ ...LEDGER, [path]: text })).map(
    ({ path, line, message }) => `${path}:${line} ${/table \w+|"[^"]+"/.exec(message)}`,
  )

t.test('a table: named in the folder that makes it, and nowhere else', async t => {
  const statements = [
    'SELECT balance FROM wallets WHERE id = ?',
    'SELECT 1 FROM accounts a LEFT JOIN wallets w ON w.id = a.id',
    'SELECT 1 FROM accounts a, wallets w',
    'SELECT 1 FROM accounts AS a, wallets',
    'INSERT INTO wallets (id) VALUES (?)',
    'UPDATE wallets SET balance = 0',
    'CREATE TRIGGER t AFTER UPDATE OF balance ON wallets BEGIN SELECT 1; END',
    'CREATE TABLE mine (wallet BIGINT REFERENCES wallets (id))',
    'ALTER TABLE wallets ADD COLUMN mine BIGINT',
    'DELETE\n  FROM wallets',
  ]
  for (const text of statements) {
    const code = `/** Owns. */\nconst SQL = \`${text}\``
    t.match(tables('plugins/account/statements.ts', code), [/:\d table wallets$/], text)
    t.same(tables('plugins/ledger/statements.ts', code), [], 'in its own folder')
    t.same(tables('plugins/ledger/views/wallets.ts', code), [], 'and below it')
    t.same(tables('test/plugins/ledger.test.ts', code), [], 'a test may look')
  }
  const lock = "locks: [{ table: 'credits', column: 'id', value: 1 }]"
  t.same(tables('plugins/notify/crossings.ts', lock), [
    'plugins/notify/crossings.ts:1 table credits',
  ])
  t.same(tables('plugins/x.ts', 'const SQL = `SELECT 1 FROM ${WALLETS} w, (${rows}) r`'), [])
  t.same(tables('plugins/x.ts', '// the wallets and credits of accounts, taken FROM them'), [])
})

t.test('a table of the engine: named in its store, and by no plugin', async t => {
  const code = "const SQL = 'SELECT id FROM tollgate_processes WHERE id = ?'"
  t.same(tables('engine/store/postgres/reap.ts', code), [])
  for (const path of ['plugins/ledger/single-row-charge.ts', 'engine/quota/statements.ts'])
    t.same(tables(path, code), [`${path}:1 table tollgate_processes`])
})

t.test('a wallet number: computed by its owner only', async t => {
  for (const text of ['k.account * 2', 'NEW.key * 2 + 1', 'w.id % 2 = 0', 'w.id / 2', 'id*2'])
    t.match(tables('plugins/ledger/audit.ts', `const SQL = \`WHERE x = ${text}\``), [/"/], text)
  t.same(tables('plugins/ledger/wallet.ts', 'account: id => id * 2'), [])
  t.same(tables('plugins/billing/sum.ts', 'const doubled = amount * 2n'), [])
})

const PLUGINS = {
  'plugins/meter.ts': 'export default { setup() {} }',
  'plugins/model/index.ts': 'export default {\n  sections: { models: SECTION },\n}',
}
const options = (path: string, text: string) =>
  optionBreaches(filesOf({ ...PLUGINS, [path]: text })).map(({ path, line }) => `${path}:${line}`)

t.test('an option or a section: read by its plugin and by the folder that exports it', async t => {
  const reads = {
    "host.route.option('meter')": 'plugins/ledger/views/route.ts',
    "route.has('meter')": 'plugins/ledger/views/route.ts',
    "host.section('models')": 'plugins/catalogue/configured.ts',
    "ground.section<Readonly<Record<string, object>>>('models')": 'plugins/catalogue/configured.ts',
    'const models = document.models ?? {}': 'plugins/catalogue/configured.ts',
    "document.pipeline.includes('meter')": 'plugins/ledger/views/route.ts',
  }
  for (const [text, exporter] of Object.entries(reads)) {
    t.same(options('plugins/count/index.ts', `\n${text}`), ['plugins/count/index.ts:2'], text)
    t.same(options(exporter, text), [], exporter)
  }
  t.same(options('plugins/model/problems.ts', 'document.models'), [], 'in its own folder')
  t.same(options('plugins/count/index.ts', "query.has('limit'); section('routes')"), [])
})
