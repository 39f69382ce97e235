/** `tollgate check`: exit codes and three formats; also `routes` and `schema`. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { cachedCommand, operatorEnv } from '../../helpers/operator.ts'

const STAMP = `export default {
  schema: { description: 'A text.', type: 'string', examples: ['hello'] },
  setup: text => ({ async handle(exchange, next) { await next() } }),
}
`
const project = (t: Test, yaml: string): string => {
  const folder = t.testdir({ 'routes.yaml': yaml, plugins: { 'stamp.ts': STAMP } })
  return `${folder}/routes.yaml`
}
const GOOD = `settings: { data: ./not-there }
pipeline: [stamp]
upstreams: { up: { url: 'http://127.0.0.1:1/v1', key: sk-0123456789 }, two: { url: 'http://127.0.0.1:2' } }
routes:
  - { path: 'GET /items/{id}', upstream: [up, two], stamp: hello }
  - { path: 'WS /live', upstream: up }
`

t.test('check: a valid configuration exits 0 and creates no data folder', async t => {
  const config = project(t, GOOD)
  t.same(await tollgate(['check', '-c', config]), {
    code: 0,
    out: `${config}: no problems (2 routes, 1 plugin)`,
    err: '',
  })
  const json = await tollgate(['check', '--json', '-c', config])
  t.equal(json.code, 0)
  t.same(JSON.parse(json.out), { problems: [], total: 0 })
  t.same(await tollgate(['check', '--format', 'github'], { TOLLGATE_CONFIG: config }), {
    code: 0,
    out: '',
    err: '',
  })
  t.notOk(existsSync('./not-there'), 'no data folder is created')
})

t.test('check: prints problems in every format and exits 1', async t => {
  const config = project(t, GOOD.replace('upstream: up }', 'upstrem: up }'))
  const pretty = await tollgate(['check', '-c', config])
  t.equal(pretty.code, 1)
  t.equal(pretty.out, '')
  t.match(pretty.err, /routes\.yaml:6:\d+ {2}[A-Z_]+ {2}.*upstrem.*did you mean "upstream"\?/)
  t.match(pretty.err, /^ {2}6 \| .*upstrem/m, 'the line')
  t.match(pretty.err, /^ {4}\| +\^+$/m, 'the caret')
  for (const argv of [['--format', 'json'], ['--json']]) {
    const { code, out } = await tollgate(['check', ...argv, '-c', config])
    t.equal(code, 1)
    t.match(JSON.parse(out), { problems: [{ line: 6, suggestion: 'upstream' }] })
  }
  const github = await tollgate(['check', '--format', 'github', '-c', config])
  t.equal(github.code, 1)
  t.match(github.out, /^::error file=.*routes\.yaml,line=6,col=\d+/)
})

t.test('check: a missing file is a problem', async t => {
  const { code, err } = await tollgate(['check', '-c', '/nowhere/routes.yaml'])
  t.equal(code, 1)
  t.match(err, /CONFIG_MISSING/)
})

t.test('routes: lists stages and upstreams as columns or JSON', async t => {
  const config = project(t, GOOD)
  const { code, out } = await tollgate(['routes', '-c', config])
  t.equal(code, 0)
  t.same(
    out.split('\n').map(line => line.split(/ {2,}/)),
    [
      ['METHOD', 'PATH', 'STAGES', 'UPSTREAMS'],
      ['GET', '/items/{id}', 'stamp', 'up two'],
      ['WS', '/live', 'up'],
    ],
  )
  const json = await tollgate(['routes', '--json', '-c', config])
  t.match(JSON.parse(json.out), [
    { method: 'GET', path: '/items/{id}', stages: ['stamp'], upstreams: ['up', 'two'] },
    { method: 'WS', path: '/live', stages: [], upstreams: ['up'] },
  ])
})

t.test('schema: prints the schema or writes it to schemas/routes.json', async t => {
  const config = project(t, GOOD)
  const output = await tollgate(['schema', '-c', config])
  t.equal(output.code, 0)
  const schema = JSON.parse(output.out)
  t.equal(schema.properties.routes.items.properties.stamp.description, 'A text.')
  const { code, out } = await tollgate(['schema', '--write', '-c', config])
  t.equal(code, 0)
  const file = config.replace('routes.yaml', 'schemas/routes.json')
  t.equal(out, `${file} written`)
  t.same(JSON.parse(readFileSync(file, 'utf8')), schema)
})

t.test('schema: a plugin that does not compile is a problem', async t => {
  const folder = t.testdir({ 'routes.yaml': GOOD, plugins: { 'stamp.ts': 'export default {' } })
  const { code, err } = await tollgate(['schema', '-c', `${folder}/routes.yaml`])
  t.equal(code, 1)
  t.match(err, /stamp\.ts:1:\d+ {2}PLUGIN_SYNTAX/)
})

t.test('check: a plugin that ends the process, or never returns, is a problem', async t => {
  const program = join(import.meta.dirname, '../../../engine/bin.cjs')
  const check = (top: string, command = 'check') => {
    const config = `${t.testdir({ 'routes.yaml': GOOD, plugins: { 'stamp.ts': top + STAMP } })}/routes.yaml`
    const [node, argv] = cachedCommand(program, command, '-c', config)
    return spawnSync(node, argv, { env: operatorEnv(), encoding: 'utf8' })
  }
  for (const command of ['check', 'routes', 'webhooks'])
    t.match(check('process.exit(0)\n', command), {
      status: 1,
      stdout: '',
      stderr: /plugins\/stamp\.ts:1:1 {2}PLUGIN_ENDS {2}/,
    })
  t.match(check('for (;;) Math.random()\n'), {
    signal: 'SIGKILL',
    stderr: /plugins\/stamp\.ts:1:1 {2}PLUGIN_HANGS {2}.*endless loop/,
  })
  t.match(check(''), { status: 0, stdout: /no problems/ })
})
