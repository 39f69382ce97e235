/** The command line: finds the verb, parses its options, turns faults into exit codes. Verbs live in cli/, or in plugins. */
import { parseArgs } from 'node:util'
import { helpOf, overview } from './cli/help.ts'
import { EXIT, isUsageError, UsageError } from './cli/kit.ts'
import {
  type Arguments,
  configOf,
  EVERYWHERE,
  processTerminal,
  type Terminal,
  type Verb,
} from './cli/verb.ts'
import { format, ProblemsError } from './config/problem.ts'
import { nearest } from './kit.ts'

/** Loaded when asked for: `version` must not wait for the YAML parser. */
const VERBS: Readonly<Record<string, () => Promise<Verb>>> = {
  start: async () => (await import('./cli/start.ts')).default,
  check: async () => (await import('./cli/check.ts')).default,
  explain: async () => (await import('./cli/explain.ts')).default,
  schema: async () => (await import('./cli/schema.ts')).default,
  reload: async () => (await import('./cli/running.ts')).reload,
  rollback: async () => (await import('./cli/running.ts')).rollback,
  status: async () => (await import('./cli/running.ts')).status,
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
    // A fault with a code explains itself; anything else is ours to repair.
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
  const own = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined
  return own ? runVerb(name, await own(), rest, terminal) : runLent(name, rest, terminal)
}

const runVerb = (name: string, verb: Verb, args: readonly string[], terminal: Terminal) => {
  const { values, positionals } = parse(name, verb, args)
  if (values.help) {
    terminal.out(helpOf(name, verb, terminal))
    return EXIT.ok
  }
  const [least, most] = verb.takes ?? [0, 0]
  if (positionals.length < least || positionals.length > most)
    throw new UsageError(`write: tollgate ${name} ${verb.usage ?? ''}`.trimEnd())
  return verb.run({ values, positionals }, terminal)
}

const parse = (name: string, verb: Verb, args: readonly string[]): Arguments => {
  const options = { ...verb.options, ...EVERYWHERE }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true }) as Arguments
  } catch (thrown) {
    const wrong = /Unknown option '--?([^']+)'/.exec((thrown as Error).message)?.[1]
    if (wrong === undefined) throw new UsageError((thrown as Error).message)
    throw unknown('option', wrong, Object.keys(options), `tollgate ${name} --help`)
  }
}

/** A verb that is not the engine's may be a plugin's, if there is a configuration to ask. */
const runLent = async (name: string, args: readonly string[], terminal: Terminal) => {
  const own = Object.keys(VERBS)
  const { withLent } = await import('./cli/plugin-commands.ts')
  const { realDatabase } = await import('./cli/offline.ts')
  try {
    return await withLent(configIn(args, terminal), terminal, realDatabase, async verbs => {
      const verb = verbs.get(name)
      if (!verb) throw unknown('verb', name, [...own, ...verbs.keys()], 'tollgate --help')
      return runVerb(name, verb, args, terminal)
    })
  } catch (thrown) {
    if (!(thrown instanceof ProblemsError)) throw thrown
    // Problems hide what plugins lend; a slip of the pen, or no file at all, is the likelier fault.
    const none = thrown.problems[0]?.code === 'CONFIG_MISSING' || nearest(name, own) !== undefined
    throw none ? unknown('verb', name, own, 'tollgate --help') : thrown
  }
}

/** The one option that must be known before the options are. */
const configIn = (args: readonly string[], terminal: Terminal): string => {
  const options = { config: { type: 'string', short: 'c' } } as const
  const { values } = parseArgs({ args: [...args], options, strict: false })
  return configOf({ values: values as Arguments['values'], positionals: [] }, terminal)
}

const unknown = (kind: string, word: string, words: readonly string[], help: string) => {
  const near = nearest(word, words)
  const way = near === undefined ? `see ${help}` : `did you mean "${near}"?`
  return new UsageError(`unknown ${kind} "${word}"; ${way}`)
}

const showOverview = async (name: string, terminal: Terminal): Promise<number> => {
  const own = await Promise.all(
    Object.entries(VERBS).map(async ([verb, load]) => [verb, (await load()).summary] as const),
  )
  const { withLent } = await import('./cli/plugin-commands.ts')
  const { readOnlyDatabase } = await import('./cli/offline.ts')
  const config = configIn([], terminal)
  const lent = await withLent(config, terminal, readOnlyDatabase, async verbs =>
    [...verbs].map(([verb, { summary }]) => [verb, summary] as const),
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
  // A store that cannot be had is nothing that an edit of the files would mend.
  return problems.every(({ code }) => code.startsWith('STORE_')) ? EXIT.runTime : EXIT.problems
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)))
