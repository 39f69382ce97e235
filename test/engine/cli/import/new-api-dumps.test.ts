/** `tollgate import new-api` from dumps of a real PostgreSQL server, as JSON lines, JSON and CSV:
 *  the same configuration, accounts and keys as from the SQLite file of the same rows. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { useShippedPlugins } from '../../../helpers/environment.ts'
import { withOutput } from '../../../helpers/gateway/command-line.ts'
import {
  channel,
  option,
  type Rows,
  token,
  tokenKey,
  user,
  writeDatabase,
} from '../../../helpers/import/new-api.ts'
import { sharedPostgres } from '../../../helpers/store/postgres.ts'
import { temporaryFolder } from '../../../helpers/store/store.ts'

/** Types of the columns as new-api makes them on PostgreSQL; `char` pads its texts. */
const SCHEMA = `
CREATE TABLE users (id bigserial PRIMARY KEY, username text UNIQUE, password text, display_name text, role bigint,
  status bigint, email text, access_token char(32), quota bigint, used_quota bigint, request_count bigint,
  "group" varchar(64), setting text, stripe_customer varchar(64), deleted_at timestamptz);
CREATE TABLE tokens (id bigserial PRIMARY KEY, user_id bigint, key char(48), status bigint, name text,
  created_time bigint, accessed_time bigint, expired_time bigint, remain_quota bigint, used_quota bigint,
  unlimited_quota boolean, model_limits_enabled boolean, model_limits varchar(1024), allow_ips text, "group" text,
  deleted_at timestamptz);
CREATE TABLE channels (id bigserial PRIMARY KEY, type bigint, key text, openai_organization text, status bigint,
  name text, weight bigint, base_url text, other text, models text, "group" varchar(64), model_mapping text,
  priority bigint, tag text, setting text, status_code_mapping varchar(1024), param_override text,
  header_override text, channel_info json);
CREATE TABLE options (key varchar(128) PRIMARY KEY, value text);
CREATE TABLE logs (id bigserial, user_id bigint, content text);
CREATE TABLE redemptions (id bigserial, key char(32), status bigint, quota bigint);`
const FLAGS = ['unlimited_quota', 'model_limits_enabled']
const DELETED = '2026-01-01 00:00:00.123456+00'
const NEXT_CENTURY = 4_102_444_800
const ROWS: Rows = {
  users: [
    user(1, { username: 'root', role: 100, quota: 1_250_000, access_token: 'short' }),
    user(2, { username: 'ann', quota: 9_007_199_254_740, group: 'vip', setting: '{"a":"b"}' }),
    user(3, { username: '王 "小" \\n, x', email: '' }),
    user(4, { username: 'gone', deleted_at: DELETED }),
    user(5, { username: 'none', status: 2, quota: -5, email: null }),
  ],
  tokens: [
    token(1, 2, { unlimited_quota: 0, remain_quota: 250_000, name: 'a, "quoted"\r\nname\\' }),
    token(2, 2, { model_limits_enabled: 1, model_limits: 'gpt-4o,dall-e-3', group: '' }),
    token(3, 2, { expired_time: NEXT_CENTURY, model_limits_enabled: 0, model_limits: 'gpt-4o' }),
    token(4, 3, { key: 'Short1', name: '', allow_ips: '' }),
    token(5, 3, { allow_ips: '10.0.0.0/8\n10.1.0.0/16' }),
    token(6, 1, { deleted_at: DELETED }),
    token(7, 1, { model_limits_enabled: 1, model_limits: '' }),
    token(8, 5, { key: tokenKey(1) }),
  ],
  channels: [
    channel(1, 1, { models: 'gpt-4o,o3', priority: 10, base_url: null, model_mapping: null }),
    channel(2, 1, {
      key: 'one\ntwo\nthree',
      channel_info: '{"is_multi_key": true, "multi_key_status_list": {"1": 2}}',
      models: 'gpt-4o',
      model_mapping: '{\n  "gpt-4o": "a",\n  "a": "gpt-4o-2024-11-20"\n}',
      base_url: 'https://other.example',
    }),
    channel(3, 14, {
      name: 'Claude, "EU"',
      models: 'claude-sonnet-4-5',
      weight: null,
      setting: '{}',
    }),
    channel(4, 33, { key: 'ID|SECRET\\|us-west-2', models: 'claude-sonnet-4-5', priority: 5 }),
    channel(5, 1, { models: 'gpt-4o', header_override: '{"x-a":"\\"b\\""}', tag: 'x' }),
  ],
  options: [
    option('ModelRatio', { 'gpt-4o': 1.25, 'claude-sonnet-4-5': 1.5 }),
    option('ModelPrice', { 'dall-e-3': 0.04 }),
    option('GroupRatio', { default: 1, vip: 0.8 }),
    option('QuotaPerUnit', '500000'),
    option('Notice', '<p class="a">Hi,\n"all" \\o/</p>'),
  ],
  logs: [{ id: 1, user_id: 2, content: 'used, "much"' }],
  redemptions: [],
}

const server = await sharedPostgres()
const url = await server.create()
const client = new pg.Client(url)
await client.connect()
await client.query(SCHEMA)
for (const [table, rows] of Object.entries(ROWS))
  for (const row of rows) {
    const names = Object.keys(row)
    const places = names.map((_, at) => `$${at + 1}`)
    await client.query(
      `INSERT INTO ${table} (${names.map(name => `"${name}"`)}) VALUES (${places})`,
      names.map(name => (FLAGS.includes(name) ? row[name] === 1 : row[name])),
    )
  }
t.teardown(() => client.end())

const psql = async (command: string): Promise<string> =>
  (await promisify(execFile)('psql', ['-AtX', '-d', url, '-c', command], { cwd: '/' })).stdout
/** Ways to dump a table to the file `path`, which has no ending. */
const DUMPS: Readonly<Record<string, (table: string, path: string) => Promise<unknown>>> = {
  'row_to_json, a row in each line': async (table, path) =>
    writeFileSync(`${path}.jsonl`, await psql(`SELECT row_to_json(t) FROM ${table} t`)),
  'row_to_json by \\copy, which doubles backslashes': (table, path) =>
    psql(`\\copy (SELECT row_to_json(t) FROM ${table} t) TO '${path}.jsonl'`),
  'json_agg, an array': async (table, path) =>
    writeFileSync(`${path}.json`, await psql(`SELECT json_agg(t) FROM ${table} t`)),
  'CSV by \\copy': (table, path) => psql(`\\copy ${table} TO '${path}.csv' CSV HEADER`),
  'CSV by \\copy, quoted, with \\N': (table, path) =>
    psql(`\\copy ${table} TO '${path}.csv' WITH (FORMAT csv, HEADER, FORCE_QUOTE *, NULL '\\N')`),
}

/** The files, rows and report of an import; without the paths of its files. */
const importFrom = async (t: Parameters<typeof temporaryFolder>[0], source: string) => {
  const folder = temporaryFolder(t)
  const config = join(folder, 'routes.yaml')
  const env = { TOLLGATE_CONFIG: config, TOLLGATE_DATA: join(folder, 'data') }
  const { code, err } = await withOutput(t, ['import', 'new-api', source, '--write', config], env)
  const database = new DatabaseSync(join(folder, 'data/tollgate.db'), { readOnly: true })
  const accounts = database
    .prepare(
      `SELECT a.name, a.role, a.suspended IS NULL AS active, CAST(w.balance AS TEXT) AS balance FROM accounts a
       LEFT JOIN wallets w ON w.id = a.id * 2 ORDER BY a.name`,
    )
    .all()
  const keys = database
    .prepare('SELECT digest, name, expires, models, quota, account FROM api_keys ORDER BY digest')
    .all()
  database.close()
  return {
    code,
    report: err.replaceAll(source, 'SOURCE').replaceAll(folder, 'FOLDER').split('\n').toSorted(),
    yaml: readFileSync(config, 'utf8'),
    variables: readFileSync(join(folder, '.env'), 'utf8'),
    accounts: accounts.map(row => ({ ...row })),
    keys: keys.map(row => ({ ...row })),
  }
}

t.test('import new-api: dumps of PostgreSQL are as the SQLite file of the same rows', async t => {
  useShippedPlugins(t)
  const file = join(temporaryFolder(t), 'one-api.db')
  writeDatabase(file, 'new-api', ROWS)
  const expected = await importFrom(t, file)
  t.equal(expected.code, 0, expected.report.join('\n'))
  t.equal(expected.accounts.length, 4)
  t.equal(expected.keys.length, 4)
  t.match(expected.variables, /^CHANNEL_2_KEY_2="three"$/m)
  const dumpAll = async (name: string) => {
    const folder = join(temporaryFolder(t), 'dump')
    mkdirSync(folder)
    for (const table of Object.keys(ROWS)) await DUMPS[name]?.(table, join(folder, table))
    return folder
  }
  for (const name of Object.keys(DUMPS))
    t.same(await importFrom(t, await dumpAll(name)), expected, name)

  // A JSON column as bytes.
  await client.query(
    "ALTER TABLE channels ALTER channel_info TYPE bytea USING convert_to(channel_info::text, 'UTF8')",
  )
  for (const name of Object.keys(DUMPS))
    t.same(await importFrom(t, await dumpAll(name)), expected, `${name}, with bytea`)
})
