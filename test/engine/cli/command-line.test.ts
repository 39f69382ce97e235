/** The command line itself: help of each command, exit codes, misspelled words, colours, JSON. */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { processTerminal, progressOn } from '../../../engine/cli/command.ts'
import { COMMANDS } from '../../../engine/cli/commands.ts'
import { bindHost } from '../../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../../engine/cli/run-command.ts'
import type { Command } from '../../../engine/plugin.ts'
import { CODE_ENV, usedFolder } from '../../helpers/cache.ts'
import { recordingTerminal, tollgate } from '../../helpers/gateway/command-line.ts'
import { plainCommand } from '../../helpers/operator.ts'

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

const PLUGINS = fileURLToPath(new URL('../../../plugins', import.meta.url))

t.test('usage: every command with too many arguments prints its usage line', async t => {
  const words = Array.from({ length: 9 }, (_, index) => `word${index}`)
  for (const [name, load] of Object.entries(COMMANDS)) {
    const command = await load()
    const paths =
      'subcommands' in command
        ? Object.keys(command.subcommands).map(each => [name, each])
        : [[name]]
    for (const path of paths) {
      const { code, err, out } = await tollgate([...path, ...words], NOWHERE)
      t.match({ code, out }, { code: 2, out: '' }, path.join(' '))
      t.match(err, new RegExp(`^Usage: tollgate ${path.join(' ')}( |$)`))
    }
  }
})

t.test(
  'usage: every command of a plugin with too many arguments prints its usage line',
  async t => {
    const words = Array.from({ length: 9 }, (_, index) => `word${index}`)
    const names: string[] = []
    for (const file of globSync('*{.ts,/index.ts}', { cwd: PLUGINS })) {
      // Its pages must be bundled first; it has no commands.
      if (file === 'console/index.ts') continue
      const { default: plugin } = (await import(`${PLUGINS}/${file}`)) as {
        readonly default?: { readonly commands?: Readonly<Record<string, Command>> }
      }
      for (const [name, command] of Object.entries(plugin?.commands ?? {})) {
        names.push(name)
        const paths = 'subcommands' in command ? Object.keys(command.subcommands) : ['']
        for (const subcommand of paths) {
          const args = subcommand === '' ? words : [subcommand, ...words]
          const terminal = recordingTerminal({})
          const bound = bindHost(command, () => Promise.reject(new Error('it must not run')))
          const code = await runPluginCommand(name, bound, args, terminal)
          t.equal(code, 2, `${name} ${subcommand}`)
          t.match(terminal.errs.join('\n'), new RegExp(`^Usage: tollgate ${name} ?${subcommand}`))
        }
      }
    }
    t.ok(names.length > 8, names.join(' '))
  },
)

t.test('progress: is printed where a person reads stderr', async t => {
  const lines = (progressInterval: number | undefined): readonly string[] => {
    const terminal = recordingTerminal({})
    progressOn({ ...terminal, progressInterval })('accounts', 5, 10, 'rows')
    return terminal.errs
  }
  t.same(lines(0), ['accounts: 5 of 10 rows'])
  t.same(lines(60_000), [], 'not at once')
  t.same(lines(undefined), [])
  const early = recordingTerminal({})
  // Longer than since the last line, shorter than twice since the process began.
  progressOn({ ...early, progressInterval: performance.now() })('work', 1, 2, 'rows')
  t.same(early.errs, [], 'not before the interval is over')
  const interval = processTerminal().progressInterval
  t.equal(interval, process.stderr.isTTY ? 2_000 : undefined)
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
    [['check', 'routes.yaml'], /^Usage: tollgate check \[--format FORMAT\] \[--live\]$/],
    [['explain', 'GET'], /^Usage: tollgate explain METHOD PATH \[--body FILE\] /],
    [['explain', 'GET', '/', '-H', 'nonsense'], /^--header needs 'NAME: VALUE', not "nonsense"$/],
    [['rollback', 'yesterday'], /^a version is a number/],
    [['rollback', '999999999999999999999'], /^a version is a number/],
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

t.test('options of every command: may be before it; others are sent behind it', async t => {
  const folder = t.testdir({
    'routes.yaml': `settings: { plugins: ['${PLUGINS}'], data: '${usedFolder(`${t.testdirName}/data`)}' }
pipeline: [auth, model, meter, sandbox]
upstreams: { up: { url: 'sandbox:' } }
models: { m: { to: up/m, price: { input: 1, output: 1 } } }
routes: [{ path: POST /chat, auth: key, model: body }]
`,
  })
  const config = `${folder}/routes.yaml`
  const behind = await tollgate(['models', 'm', '--json', '-c', config])
  t.match(behind, { code: 0, out: /"m"/ })
  t.match(behind.out, /^[[{]\n {2}["{]/, 'two spaces a level')
  for (const argv of [
    ['--config', config, '--json', 'models', 'm'],
    [`--config=${config}`, 'models', 'm', '--json'],
    ['-c', config, 'models', '--json', 'm'],
  ])
    t.same(await tollgate(argv, NOWHERE), behind, argv.join(' '))
  t.match(await tollgate(['-c', config, 'check'], NOWHERE), { code: 0, out: /no problems/ })
  t.match(await tollgate(['-c', config, '--help'], NOWHERE), { code: 0, out: /^ {2}models /m })
  t.match(await tollgate(['-c', config], NOWHERE), { code: 2, err: /^ {2}models /m })
  t.match(await tollgate(['--top', '5', 'usage'], NOWHERE), {
    code: 2,
    out: '',
    err: 'options go behind the command: tollgate COMMAND --top',
  })
})

t.test('command of a plugin: without a configuration, the missing file is the problem', async t => {
  const { code, err } = await tollgate(['accounts', 'list'], NOWHERE)
  t.equal(code, 1)
  t.match(err, /CONFIG_MISSING/)
  const misspelled = await tollgate(['chekc'], NOWHERE)
  t.equal(misspelled.code, 2)
  t.match(misspelled.err, /^unknown command "chekc"/)
})

t.test('version: prints the versions of the program and of Node', async t => {
  const { out } = await tollgate(['version', '--json'])
  t.same(JSON.parse(out), { tollgate: '0.1.0', node: process.versions.node })
  t.match((await tollgate(['--version'])).out, /^tollgate 0\.1\.0 \(node \d/)
})

t.test('colours: only for terminals, unless FORCE_COLOR or NO_COLOR is set', async t => {
  const run = (env: Record<string, string>, argument = '--help') =>
    spawnSync(...plainCommand(process.execPath, bin, argument), {
      env: { ...process.env, ...CODE_ENV, ...NOWHERE, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const plain = run({})
  t.equal(plain.status, 0)
  t.notMatch(plain.stdout, /\x1b/, 'no colours in a pipe')
  t.match(run({ FORCE_COLOR: '1' }).stdout, /\x1b\[1m(?:tollgate|node |npx )/)
  t.notMatch(run({ NO_COLOR: '1' }).stdout, /\x1b/)
  const wrong = run({}, 'chekc')
  t.equal(wrong.status, 2, 'the exit code reaches the shell')
  t.match(wrong.stderr, /did you mean "check"/)
})
