/** Commands and groups: help, usage lines, options and output come from their members. */
import t from 'tap'
import type { Command, SingleCommand } from '../../../engine/cli/command.ts'
import { helpOf, summaryOf, usageOf } from '../../../engine/cli/help.ts'
import { UsageError } from '../../../engine/cli/kit.ts'
import { runCommand, runPluginCommand } from '../../../engine/cli/run-command.ts'
import { errors } from '../../../engine/errors.ts'
import { recordingTerminal, tollgate } from '../../helpers/gateway/command-line.ts'

const fault = errors({ GREETED: [409, '%s was greeted already'], RUDE: [400, '%s is rude'] })
const hello: SingleCommand = {
  arguments: 'NAME [WORD]',
  summary: 'Greets a person.',
  example: 'tollgate greet hello ann --loud',
  options: {
    loud: { type: 'boolean', summary: 'in capitals' },
    times: { type: 'string', value: 'NUMBER', short: 'n', summary: 'how often' },
  },
  async run({ positionals: [name = '', word = 'hello'], values }) {
    if (name === 'again') throw fault('GREETED', [name])
    if (name === 'rude') throw fault('RUDE', [name])
    if (name === 'odd') throw new UsageError('that is not a name')
    const text = values.loud ? word.toUpperCase() : word
    return { rows: [{ name, text }], after: 'Done.\n' }
  },
}
const list: SingleCommand = {
  summary: 'Lists the greeted people.',
  example: 'tollgate greet list',
  run: async () => ({ rows: [], json: { greeted: [] }, exit: 1 }),
}
const greet: Command = { summary: 'Greets people.', subcommands: { hello, list } }

const run = async (command: Command, ...args: string[]) => {
  const terminal = recordingTerminal({})
  const code = await runPluginCommand('greet', command, args, terminal)
  return { code, out: terminal.outs.join('\n'), err: terminal.errs.join('\n') }
}

t.test(
  'command group: the first word selects the subcommand; rows are columns or JSON',
  async t => {
    t.same(await run(greet, 'hello', 'ann'), {
      code: 0,
      out: 'name  text\nann   hello\nDone.',
      err: '',
    })
    t.match(await run(greet, '--loud', 'hello', 'ann', 'hi'), { code: 0, out: /ann {3}HI/ })
    const { out } = await run(greet, 'hello', 'ann', '--json')
    t.same(JSON.parse(out), [{ name: 'ann', text: 'hello' }])
    t.same(await run(greet, 'list'), { code: 1, out: 'none', err: '' })
    t.same(JSON.parse((await run(greet, 'list', '--json')).out), { greeted: [] })
  },
)

t.test('command group: its default runs where no subcommand is named', async t => {
  const group: Command = { ...greet, default: 'list' }
  t.same(await run(group), { code: 1, out: 'none', err: '' })
  t.same(JSON.parse((await run(group, '--json')).out), { greeted: [] })
  t.match(await run(group, 'unknown'), { code: 2, err: /unknown command "unknown"/ })
  const { out } = await run(group, '--help')
  t.match(out, /^tollgate greet \[COMMAND\] \[options\]/)
  t.match(out, /one command\. Without one: list\./)
})

t.test('usage errors: one style for missing, surplus, unknown and foreign words', async t => {
  const line = 'tollgate greet hello NAME [WORD] [--loud] [--times NUMBER]'
  const cases: [args: string[], err: string][] = [
    [[], `Usage: ${line}\n       tollgate greet list`],
    [['hello'], `Usage: ${line}`],
    [['hello', 'a', 'b', 'c'], `Usage: ${line}`],
    [['list', 'x'], 'Usage: tollgate greet list'],
    [['helo', 'ann'], 'unknown command "helo"; did you mean "hello"?'],
    [['toString'], `unknown command "toString"; Usage: ${line}\n       tollgate greet list`],
    [['hello', 'ann', '--luod'], 'unknown option "luod"; did you mean "loud"?'],
    [['list', '--loud'], '--loud is not an option here\nUsage: tollgate greet list'],
    [['hello', 'odd'], 'that is not a name'],
  ]
  for (const [args, err] of cases)
    t.same(await run(greet, ...args), { code: 2, out: '', err }, args.join(' '))
})

t.test('arguments: a negative number is a value, and no option', async t => {
  t.match(await run(greet, 'hello', 'ann', '-5'), { code: 0, out: /ann {3}-5/ })
  t.match(await run(greet, 'hello', '--times', '-0.5', 'ann'), { code: 0 })
  t.match(await run(greet, 'hello', 'ann', '-x'), { code: 2, err: /unknown option "x"/ })
})

t.test('faults: exit 3, or 2 for status 400; printed as JSON with --json', async t => {
  t.same(await run(greet, 'hello', 'again'), {
    code: 3,
    out: '',
    err: 'again was greeted already',
  })
  t.same(await run(greet, 'hello', 'rude'), { code: 2, out: '', err: 'rude is rude' })
  const { code, err } = await run(greet, 'hello', 'again', '--json')
  t.equal(code, 3)
  t.same(JSON.parse(err), { error: { code: 'GREETED', message: 'again was greeted already' } })
  t.match(JSON.parse((await run(greet, '--json')).err), { error: { code: 'USAGE' } })
})

t.test('added subcommand: runs and appears in help, usage line and overview', async t => {
  const bye: SingleCommand = {
    arguments: 'NAME',
    summary: 'Says goodbye.',
    example: 'tollgate greet bye ann',
    run: async ({ positionals: [name] }) => ({ text: `bye ${name}` }),
  }
  const largerGroup: Command = { ...greet, subcommands: { ...greet.subcommands, bye } }
  t.same(await run(largerGroup, 'bye', 'ann'), { code: 0, out: 'bye ann', err: '' })
  t.match((await run(largerGroup, '--help')).out, /^ {2}bye NAME +Says goodbye\.$/m)
  const page = (await run(largerGroup, 'bye', '--help')).out
  t.match(page, /^tollgate greet bye NAME \[options\]\n\nSays goodbye\.\n/)
  t.match(page, /\$ tollgate greet bye ann$/)
  t.equal(page, helpOf('greet bye', bye, recordingTerminal({})))
  t.match(usageOf('greet', largerGroup), /\n {7}tollgate greet bye NAME$/)
  t.equal(summaryOf(largerGroup), 'Greets people: hello, list, bye.')
})

t.test('single command: runs without the name of a subcommand', async t => {
  const terminal = recordingTerminal({})
  t.equal(await runCommand('hello', hello, ['ann'], terminal), 0)
  await t.rejects(runCommand('hello', hello, [], terminal), {
    message: 'Usage: tollgate hello NAME [WORD] [--loud] [--times NUMBER]',
  })
})

const PLUGIN = `
const bye = {
  arguments: 'NAME',
  summary: 'Says goodbye.',
  example: 'tollgate greet bye ann',
  run: async ({ positionals: [name] }, { config }) => ({ text: 'bye ' + name + ' from ' + typeof config.hash }),
}
export default {
  schema: {},
  setup: () => ({ answers: true }),
  commands: { greet: { summary: 'Greets people.', subcommands: { bye } } },
}
`
t.test(
  'plugin commands: a command group of a plugin file can be run and is in the overview',
  async t => {
    const folder = t.testdir({
      'routes.yaml': 'pipeline: [greet]\nroutes:\n  - { path: GET /, greet: {} }\n',
      plugins: { 'greet.ts': PLUGIN },
    })
    const env = { TOLLGATE_CONFIG: `${folder}/routes.yaml`, TOLLGATE_DATA: `${folder}/data` }
    t.same(await tollgate(['greet', 'bye', 'ann'], env), {
      code: 0,
      out: 'bye ann from string',
      err: '',
    })
    t.match((await tollgate(['--help'], env)).out, /^ {2}greet +Greets people: bye\.$/m)
    t.match(await tollgate(['greet', 'bye'], env), {
      code: 2,
      err: 'Usage: tollgate greet bye NAME',
    })
  },
)
