/** The command line: finds the verb, parses its options, turns faults into exit codes. Verbs live in cli/, or in plugins. */
import { parseArgs } from 'node:util'
import { helpOf, overview } from './cli/help.ts'
import {
  type Arguments,
  COMMON,
  EXIT,
  processTerminal,
  type Terminal,
  UsageError,
  type Verb,
} from './cli/verb.ts'
import { nearest } from './config/nearest.ts'

/** Loaded when asked for: `version` must not wait for the YAML parser. */
const VERBS: Readonly<Record<string, () => Promise<Verb>>> = {
  version: async () => (await import('./cli/version.ts')).default,
}

export const main = async (
  argv: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> => {
  try {
    return await run(argv, terminal)
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown
    terminal.say(thrown.message)
    return EXIT.usage
  }
}

const run = async (
  [name = '', ...rest]: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  if (name === '--version' || name === '-v') return run(['version', ...rest], terminal)
  if (name === '' || name === 'help' || name.startsWith('-')) return showOverview(name, terminal)
  const verb = await VERBS[name]?.()
  if (!verb) throw unknown('verb', name, Object.keys(VERBS), 'tollgate --help')
  const { values, positionals } = parse(name, verb, rest)
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
  const options = { ...verb.options, ...COMMON }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true }) as Arguments
  } catch (thrown) {
    const wrong = /Unknown option '--?([^']+)'/.exec((thrown as Error).message)?.[1]
    if (wrong === undefined) throw new UsageError((thrown as Error).message)
    throw unknown('option', wrong, Object.keys(options), `tollgate ${name} --help`)
  }
}

const unknown = (kind: string, word: string, words: readonly string[], help: string) => {
  const near = nearest(word, words)
  const way = near === undefined ? `see ${help}` : `did you mean "${near}"?`
  return new UsageError(`unknown ${kind} "${word}"; ${way}`)
}

const showOverview = async (name: string, terminal: Terminal): Promise<number> => {
  const verbs = await Promise.all(
    Object.entries(VERBS).map(async ([verb, load]) => [verb, (await load()).summary] as const),
  )
  const page = overview(Object.fromEntries(verbs), [], terminal)
  const asked = ['help', '--help', '-h'].includes(name)
  ;(asked ? terminal.out : terminal.say)(page)
  return asked ? EXIT.ok : EXIT.usage
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))
