/** The command line itself: help of each command, exit codes, misspelled words, colours, JSON. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { CODE_ENV } from '../../helpers/cache.ts'
import { plainly } from '../../helpers/operator.ts'
import { tollgate } from '../../helpers/terminal.ts'

const bin = fileURLToPath(new URL('../../../engine/bin.cjs', import.meta.url))
const NAMES = [
  'start',
  'check',
  'explain',
  'schema',
  'reload',
  'rollback',
  'status',
  'backup',
  'routes',
  'plugin',
  'version',
]
const NOWHERE = { TOLLGATE_CONFIG: '/nowhere/routes.yaml' }

t.test('overview: lists every command and the exit codes', async t => {
  const { code, out } = await tollgate(['--help'], NOWHERE)
  t.equal(code, 0)
  for (const name of NAMES) t.match(out, new RegExp(`^  ${name} +[A-Z].*\\.$`, 'm'), name)
  t.match(out, /0 ok, 1 problems in the configuration, 2 wrong use, 3 a fault at run time/)
  t.match(await tollgate(['help'], NOWHERE), { code: 0, out })
  t.match(
    await tollgate([], NOWHERE),
    { code: 2, err: out, out: '' },
    'without arguments it is wrong use',
  )
})

for (const name of NAMES)
  t.test(`${name} --help: explains the command with an example`, async t => {
    const { code, out } = await tollgate([name, '--help'], NOWHERE)
    t.equal(code, 0)
    t.match(out, new RegExp(`^tollgate ${name}`))
    t.match(out, new RegExp(`^  \\$ tollgate ${name}`, 'm'), 'an example')
    for (const option of ['--config FILE', '--json', '-h, --help']) t.ok(out.includes(option))
    t.notMatch(out, /undefined|\[object/)
  })

t.test('wrong use: the error suggests the nearest word or prints the usage', async t => {
  const cases: [argv: string[], expected: RegExp][] = [
    [['chekc'], /^unknown command "chekc"; did you mean "check"\?$/],
    [['frobnicate'], /^unknown command "frobnicate"; see tollgate --help$/],
    [['constructor'], /^unknown command "constructor"/],
    [['check', '--formta', 'json'], /^unknown option "formta"; did you mean "format"\?$/],
    [['check', '--zzz'], /^unknown option "zzz"; see tollgate check --help$/],
    [['check', '--format'], /format/],
    [['check', '--format', 'xml'], /^--format is pretty, json or github, not "xml"$/],
    [['check', 'routes.yaml'], /^Usage: tollgate check \[--format FORMAT\]$/],
    [['explain', 'GET'], /^Usage: tollgate explain METHOD PATH \[--body FILE\] /],
    [['explain', 'GET', '/', '-H', 'nonsense'], /^--header needs 'NAME: VALUE', not "nonsense"$/],
    [['rollback', 'yesterday'], /^a version is a number/],
    [['plugin', 'old', 'x'], /^unknown command "old"; Usage: tollgate plugin new NAME$/],
    [['plugin', 'new'], /^Usage: tollgate plugin new NAME$/],
    [['plugin'], /^Usage: tollgate plugin new NAME$/],
  ]
  const config = t.testdir({ 'routes.yaml': 'settings: { data: /nowhere }\nroutes: []\n' })
  for (const [argv, expected] of cases) {
    const { code, err, out } = await tollgate([...argv, '-c', `${config}/routes.yaml`])
    t.equal(code, 2, argv.join(' '))
    t.match(err, expected)
    t.equal(out, '')
  }
})

t.test('unknown command: is reported without a configuration', async t => {
  const { code, err } = await tollgate(['accounts', 'list'], NOWHERE)
  t.equal(code, 2)
  t.match(err, /^unknown command "accounts"/)
})

t.test('version: prints the versions of the program and of Node', async t => {
  const { out } = await tollgate(['version', '--json'])
  t.same(JSON.parse(out), { tollgate: '0.1.0', node: process.versions.node })
  t.match((await tollgate(['--version'])).out, /^tollgate 0\.1\.0 \(node \d/)
})

t.test('colours: only for terminals, unless FORCE_COLOR or NO_COLOR is set', async t => {
  const run = (env: Record<string, string>, argument = '--help') =>
    spawnSync(...plainly(process.execPath, bin, argument), {
      env: { ...process.env, ...CODE_ENV, ...NOWHERE, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const plain = run({})
  t.equal(plain.status, 0)
  t.notMatch(plain.stdout, /\x1b/, 'no colours in a pipe')
  t.match(run({ FORCE_COLOR: '1' }).stdout, /\x1b\[1mtollgate/)
  t.notMatch(run({ NO_COLOR: '1' }).stdout, /\x1b/)
  const wrong = run({}, 'chekc')
  t.equal(wrong.status, 2, 'the exit code reaches the shell')
  t.match(wrong.stderr, /did you mean "check"/)
})
