/** The command line: finds the command, turns faults into exit codes. Commands live in cli/, or in
 *  plugins. */
import { parseArgs } from 'node:util'
import { overview, summaryOf } from './cli/help.ts'
import { EXIT, isUsageError } from './cli/kit.ts'
import { runCommand, runPluginCommand, unknown } from './cli/run-command.ts'
import {
  type Arguments,
  type Command,
  configOf,
  processTerminal,
  type Terminal,
} from './cli/verb.ts'
import { nearest } from './config/nearest.ts'
import { format, ProblemsError } from './config/problem.ts'

/** Engine commands, one file each, loaded on demand: `version` must not load the YAML parser. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./cli/start.ts')).default,
  check: async () => (await import('./cli/check.ts')).default,
  explain: async () => (await import('./cli/explain.ts')).default,
  schema: async () => (await import('./cli/schema.ts')).default,
  reload: async () => (await import('./cli/reload.ts')).default,
  rollback: async () => (await import('./cli/rollback.ts')).default,
  status: async () => (await import('./cli/status.ts')).default,
  backup: async () => (await import('./cli/backup.ts')).default,
  routes: async () => (await import('./cli/routes.ts')).default,
  plugin: async () => (await import('./cli/plugin.ts')).default,
  version: async () => (await import('./cli/version.ts')).default,
}

export const main = async (
  argv: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> => {
  try {
    return await run(argv, terminal)
  } catch (thrown) {
    if (thrown instanceof ProblemsError) return showProblems(thrown, argv, terminal)
    const { message, stack, code } = thrown as Error & { code?: string }
    // A fault with a code explains itself; anything else is a bug.
    terminal.say(code ? message : (stack ?? message))
    return isUsageError(thrown) ? EXIT.usage : EXIT.runTime
  }
}

const run = async (
  [name = '', ...rest]: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  if (name === '--version' || name === '-v') return run(['version', ...rest], terminal)
  if (name === '' || name === 'help' || name.startsWith('-')) return showOverview(name, terminal)
  const own = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  return own ? runCommand(name, await own(), rest, terminal) : runLent(name, rest, terminal)
}

/** A command that the engine does not have may belong to a plugin of the configuration. */
const runLent = async (name: string, args: readonly string[], terminal: Terminal) => {
  const own = Object.keys(COMMANDS)
  const { withLent } = await import('./cli/plugin-commands.ts')
  const { realDatabase } = await import('./cli/offline.ts')
  try {
    return await withLent(configIn(args, terminal), terminal, realDatabase, async commands => {
      const command = commands.get(name)
      if (!command) throw unknown('verb', name, [...own, ...commands.keys()], HELP)
      return runPluginCommand(name, command, args, terminal)
    })
  } catch (thrown) {
    if (!(thrown instanceof ProblemsError)) throw thrown
    // Problems hide what plugins lend; a slip of the pen, or no file at all, is the likelier fault.
    const none = thrown.problems[0]?.code === 'CONFIG_MISSING' || nearest(name, own) !== undefined
    throw none ? unknown('verb', name, own, HELP) : thrown
  }
}

/** The option that must be read before the options are parsed. */
const configIn = (args: readonly string[], terminal: Terminal): string => {
  const options = { config: { type: 'string', short: 'c' } } as const
  const { values } = parseArgs({ args: [...args], options, strict: false })
  return configOf({ values: values as Arguments['values'], positionals: [] }, terminal)
}

const HELP = 'see tollgate --help'

const showOverview = async (name: string, terminal: Terminal): Promise<number> => {
  const own = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, load]) => [name, summaryOf(await load())] as const),
  )
  const { withLent } = await import('./cli/plugin-commands.ts')
  const { readOnlyDatabase } = await import('./cli/offline.ts')
  const config = configIn([], terminal)
  const lent = await withLent(config, terminal, readOnlyDatabase, async commands =>
    [...commands].map(([name, command]) => [name, summaryOf(command)] as const),
  ).catch(() => [])
  const asked = ['help', '--help', '-h'].includes(name)
  const show = asked ? terminal.out : terminal.say
  show(overview(own, lent, terminal))
  return asked ? EXIT.ok : EXIT.usage
}

const showProblems = (
  { problems, texts, root, main: file }: ProblemsError,
  argv: readonly string[],
  terminal: Terminal,
): number => {
  const named = argv[argv.indexOf('--format') + 1]
  const how = argv.includes('--json')
    ? 'json'
    : named === 'json' || named === 'github'
      ? named
      : 'pretty'
  const options = {
    color: terminal.colors,
    ...(root !== undefined && { root }),
    ...(file !== undefined && { main: file }),
  }
  const show = how === 'pretty' ? terminal.say : terminal.out
  show(format(problems, texts, how, options))
  // An unavailable store is not a problem of the configuration files.
  return problems.every(({ code }) => code.startsWith('STORE_')) ? EXIT.runTime : EXIT.problems
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)))
