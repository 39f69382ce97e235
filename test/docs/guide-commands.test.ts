/** docs/guides/, docs/files.md, docs/actions.md, docs/openapi.md and docs/teams.md: their commands
 *  run in order, in a fresh clone with a running gateway. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t from 'tap'
import { certificateOf } from '../helpers/gateway/certificate.ts'
import { channel, option, token, user, writeDatabase } from '../helpers/import/new-api.ts'
import { sharedPostgres } from '../helpers/store/postgres.ts'
import { blockOf, blocksOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const FOLDER = fileURLToPath(new URL('../../docs/guides', import.meta.url))
/** Guides with commands of a shell. */
const GUIDES = readdirSync(FOLDER)
  .map(name => name.replace(/\.md$/, ''))
  .filter(name => blocksOf(`docs/guides/${name}.md`).some(({ language }) => language === 'sh'))
const ALIAS = "alias tollgate='node engine/bin.cjs'\n"
const server = await sharedPostgres()
const copy = await clone(t)

/** Runs the shell blocks of a guide. `change`: replaces names that exist only on the page. */
const run = (guide: string, change = (text: string) => text, part?: number): Promise<string> => {
  const blocks = blocksOf(`docs/guides/${guide}.md`).filter(({ language }) => language === 'sh')
  const lines = blocks.filter((_, index) => part === undefined || part === index)
  runGuides.add(guide)
  return copy.shell(ALIAS + change(lines.map(({ text }) => text).join('')))
}
const runGuides = new Set<string>()
/** Tables that the page on removal does not name. */
const unnamedTables = (rows: readonly { readonly [column: string]: unknown }[]): string[] => {
  const names: readonly string[] =
    blockOf('docs/guides/uninstall.md', 'sql').match(/\b[a-z_]+\b/g) ?? []
  return rows.map(({ name }) => String(name)).filter(name => !names.includes(name))
}

/** Pages with a few commands, for the same gateway. */
const runPages = async (): Promise<void> => {
  writeFileSync(join(copy.folder, 'lines.jsonl'), blockOf('docs/batches.md', 'json'))
  const files = await copy.shell(ALIAS + sessionOf('docs/files.md'))
  t.match(files, /"object":"file"[\s\S]*lines\.jsonl[\s\S]*unfinished +orphans/)
  const teams = await copy.shell(ALIAS + sessionOf('docs/teams.md'))
  t.match(teams, /#link=sl-[\s\S]*bob +admin/)
  const actions = await copy.shell(ALIAS + sessionOf('docs/actions.md'))
  t.match(
    actions,
    /accounts rename[\s\S]*"actor":"command line"[\s\S]*CEF:0[\s\S]*the log is intact/,
  )
  // The generator is a package that test/journeys/clients/openapi.test.ts runs.
  const documents = await copy.shell(sessionOf('docs/openapi.md').replace(/^npx .*$/m, ''))
  t.match(documents, /"openapi":"3\.1[\s\S]*# Tollgate[\s\S]*model,title,owner,meter/)
}

t.test('guides: commands beside a running gateway', async t => {
  await copy.start()
  const body = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hi' }] }
  writeFileSync(join(copy.folder, 'request.json'), JSON.stringify(body))
  t.match(await run('troubleshooting'), /serves #1[\s\S]*target +gp\/gpt-4\.1/)
  t.match(await run('keys-and-fallback'), /inside the gateway[\s\S]*busy[\s\S]*no difference/)
  t.match(await run('several-machines'), /serves #1/)
  t.match(await run('tls-and-proxies'), /no problems/)
  t.match(await run('upgrade', undefined, 0), /\d+ bytes[\s\S]*no problems/)
  await runPages()
  await copy.stop()
})

t.test('guides: commands for a gateway that is stopped', async t => {
  // In a data folder of its own: the backup was made beside a running gateway, so its store
  // has calls that a start settles first; and a moved store is not replaced.
  const restored = 'mkdir restored\ncp data/tollgate.db restored\nexport TOLLGATE_DATA=restored\n'
  const restore = await run('upgrade', text => `${restored}${text}`, 1)
  t.match(restore, /restored from .*the audit passed/)
  const url = await server.create()
  const move = await run('sqlite-to-postgresql', text =>
    text.replaceAll('postgres://tollgate@db.internal/tollgate', url),
  )
  t.match(move, /rows in \d+ tables moved[\s\S]*the ledger balances/)
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
  )
  await client.end()
  t.same(unnamedTables(rows), [], 'docs/guides/uninstall.md names every table')
})

/** Starts a gateway with a data folder of its own, and ends it when its banner is printed. */
const START = `export TOLLGATE_DATA=data
$& > start.log 2>&1 &
until grep -q "System token" start.log; do sleep 0.1; done
kill $!
wait $! || true
cat start.log`

t.test('guides: from LiteLLM', async t => {
  const yaml = `model_list:
  - model_name: fast
    litellm_params:
      model: openai/gpt-4.1-mini
      api_key: os.environ/OPENAI_API_KEY
      input_cost_per_token: 0.0000004
      output_cost_per_token: 0.0000016`
  mkdirSync(join(copy.folder, 'moved'))
  writeFileSync(join(copy.folder, 'moved/config.yaml'), yaml)
  const out = await run('from-litellm', text =>
    `cd moved\nunset TOLLGATE_PLUGINS\n${text}`
      .replaceAll('tollgate ', 'node ../engine/bin.cjs ')
      .replace(/^.* start$/m, START),
  )
  t.match(out, /no problems[\s\S]*tollgate \d[\s\S]* serves/)
})

t.test('guides: from new-api', async t => {
  const folder = join(copy.folder, 'from-new-api')
  mkdirSync(folder)
  writeDatabase(join(folder, 'one-api.db'), 'new-api', {
    users: [user(1, { username: 'root', role: 100 })],
    tokens: [token(1, 1)],
    channels: [channel(1, 1, { models: 'gpt-4o' })],
    options: [option('ModelRatio', { 'gpt-4o': 1.25 })],
  })
  const out = await run('from-new-api', text =>
    `cd from-new-api\nunset TOLLGATE_PLUGINS\nexport TOLLGATE_DATA=data\n${text}`
      .replaceAll('tollgate ', 'node ../engine/bin.cjs ')
      .replace(/^.* start$/m, START.replace('System token', ' serves')),
  )
  t.match(out, /no problems[\s\S]*console#link=sl-[\s\S]*tollgate \d[\s\S]* serves/)
  t.match(out, /\n0 +0 +1 +1 +0\n/, 'the second import adds nothing')
})

t.test('guides: from OpenRouter', async t => {
  const folder = join(copy.folder, 'from-openrouter')
  mkdirSync(folder)
  const models = blockOf('docs/guides/from-openrouter.md', 'yaml')
  writeFileSync(join(folder, 'models.yaml'), models)
  const out = await run('from-openrouter', text =>
    `cd from-openrouter\nunset TOLLGATE_PLUGINS\n${text}`
      .replace(
        /^echo /m,
        'sed -i "/^models:/,\\$d" routes.yaml; cat models.yaml >> routes.yaml\n$&',
      )
      .replaceAll('tollgate ', 'node ../engine/bin.cjs ')
      .replace(/^.* start$/m, START),
  )
  t.match(out, /no problems[\s\S]*no problems[\s\S]*target +openrouter\/openai\/gpt-4o:nitro/)
  t.match(out, /tollgate \d[\s\S]* serves/)
})

t.test('guides: uninstall names every table and removes the data folder', async t => {
  const folder = join(copy.folder, 'moved')
  const database = new DatabaseSync(join(folder, 'data/tollgate.db'), { readOnly: true })
  const tables = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all()
  database.close()
  t.same(unnamedTables(tables), [])
  const out = await run('uninstall', text =>
    `cd moved\nunset TOLLGATE_PLUGINS\nexport TOLLGATE_DATA=data XDG_CACHE_HOME=$PWD/cache\n${text}`.replaceAll(
      'tollgate ',
      'node ../engine/bin.cjs ',
    ),
  )
  t.match(out, /\d+ bytes/)
  t.match(readFileSync(join(folder, 'ledger.csv'), 'utf8'), /account/)
  t.notOk(existsSync(join(folder, 'data')))
})

t.test('guides: all have run', async t => {
  t.same([...runGuides].toSorted(), GUIDES.toSorted())
})

t.test(
  'guides: the nginx server of the page is one that nginx accepts',
  { skip: spawnSync('nginx', ['-v']).error !== undefined && 'nginx is not installed' },
  async t => {
    const { text = '' } =
      blocksOf('docs/guides/tls-and-proxies.md').find(({ language }) => language === 'nginx') ?? {}
    const folder = t.testdir({})
    const keyFile = join(folder, 'key.pem')
    const certificate = join(folder, 'cert.pem')
    const { cert, key } = certificateOf(t, 'example')
    writeFileSync(certificate, cert)
    writeFileSync(keyFile, key)
    const site = text
      .replace('/etc/nginx/fullchain.pem', certificate)
      .replace('/etc/nginx/privkey.pem', keyFile)
    const config = join(folder, 'nginx.conf')
    writeFileSync(config, `pid ${folder}/pid;\nevents {}\nhttp {\n${site}\n}\n`)
    const result = spawnSync('nginx', ['-t', '-c', config, '-e', `${folder}/log`], {
      encoding: 'utf8',
    })
    t.match(result, { status: 0, stderr: /test is successful/ })
  },
)
