/** The command line: finds the command of the engine (cli/) or of a plugin, runs it, and turns
 *  errors into exit codes. */
import { parseArgs } from 'node:util'
import {
  type Arguments,
  type Command,
  configOf,
  processTerminal,
  type Terminal,
} from './cli/command.ts'
import { COMMANDS } from './cli/commands.ts'
import { overview, summaryOf } from './cli/help.ts'
import { EXIT, isNeedsRoutesError, isUsageError, UsageError } from './cli/kit.ts'
import { printFault, runCommand, runPluginCommand, unknownWord } from './cli/run-command.ts'
import { addEnvFile } from './config/env-file.ts'
import { nearest } from './config/nearest.ts'
import { type Format, format, ProblemsError } from './config/problem.ts'

/** Runs `tollgate …words` and resolves to the exit code. */
export const main = async (
  words: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> => {
  const argv = commandFirst(words)
  // The reader of a pipe ended, as `head` does: nothing is left to say. A gateway serves on.
  if (argv[0] !== 'start' && !process.stdout.listeners('error').includes(endIfUnread))
    process.stdout.on('error', endIfUnread)
  try {
    return await run(argv, withEnvFile(configIn(argv, terminal), terminal))
  } catch (error) {
    if (error instanceof ProblemsError) return showProblems(error, argv, terminal)
    printFault(error, formatIn(argv) === 'json', terminal)
    return isUsageError(error) ? EXIT.usage : EXIT.runTime
  }
}

/** Runs `tollgate …argv` and ends the process when its output is written: a pipe takes long output
 *  in parts, and exiting drops the rest. */
export const mainAndExit = async (argv: readonly string[]): Promise<never> => {
  const code = await main(argv)
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>(resolve => stream.write('', () => resolve()))
  process.exit(code)
}

/** Options of every command may also be before it: `-c FILE accounts list`. */
const commandFirst = (words: readonly string[]): readonly string[] => {
  let count = 0
  while (isCommon(words[count])) count += /=|json/.test(words[count] ?? '') ? 1 : 2
  return [...words.slice(count), ...words.slice(0, count)]
}
const isCommon = (word = ''): boolean => /^(-c|--config(=.*)?|--json)$/.test(word)

/** With the variables of `.env`: also for processes that this one starts. */
const withEnvFile = (config: string, terminal: Terminal): Terminal => {
  const env = terminal.env === process.env ? process.env : { ...terminal.env }
  addEnvFile(config, env, terminal.printError)
  return { ...terminal, env }
}

const endIfUnread = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT.ok)
}

const run = async (
  [name = '', ...rest]: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  if (name === '--version' || name === '-v') return run(['version', ...rest], terminal)
  const isHelp = HELP.has(name)
  if (isHelp || name === '' || isCommon(name))
    return showOverview(isHelp, [name, ...rest], terminal)
  if (name.startsWith('-'))
    throw new UsageError(`options go behind the command: tollgate COMMAND ${name}`)
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  return load
    ? runCommand(name, await load(), rest, terminal)
    : findAndRunPluginCommand(name, rest, terminal)
}

const HELP: ReadonlySet<string> = new Set(['help', '--help', '-h'])

const findAndRunPluginCommand = async (
  name: string,
  args: readonly string[],
  terminal: Terminal,
) => {
  const engineNames = Object.keys(COMMANDS)
  const { withStandaloneCommand } = await import('./cli/standalone.ts')
  const { existingDatabase, loadingDatabase } = await import('./cli/databases.ts')
  const config = configIn(args, terminal)
  const isAnyway = args.some(each => each === '--anyway' || HELP.has(each))
  const open = loadingDatabase(terminal, isAnyway)
  const run = (command: Command) => runPluginCommand(name, command, args, terminal)
  const exit = await withStandaloneCommand(
    config,
    name,
    terminal,
    existingDatabase(terminal, isAnyway),
    run,
  ).catch(error => {
    if (!isNeedsRoutesError(error)) throw error
  })
  if (exit !== undefined) return exit
  const { withPluginCommands } = await import('./cli/plugin-commands.ts')
  const runFound = async (commands: ReadonlyMap<string, Command>) => {
    const command = commands.get(name)
    if (!command) throw unknownWord('command', name, [...engineNames, ...commands.keys()], HINT)
    return run(command)
  }
  try {
    return await withPluginCommands(config, terminal, open, runFound)
  } catch (error) {
    if (!(error instanceof ProblemsError)) throw error
    const { findLastLive, lastLiveNote } = await import('./cli/last-live.ts')
    const isMissing = error.problems[0]?.code === 'CONFIG_MISSING'
    const live = isMissing ? undefined : findLastLive(config, terminal)
    if (live) {
      terminal.printError(lastLiveNote(config, live))
      return withPluginCommands(config, terminal, open, runFound, live)
    }
    // Problems make the commands of plugins unknown. A misspelled command of the engine is the
    // likelier cause.
    const isMisspelled = nearest(name, engineNames) !== undefined
    throw isMisspelled ? unknownWord('command', name, engineNames, HINT) : error
  }
}
const HINT = 'see tollgate --help'

/** The option `--config`, which is read before the command and its options are known. */
const configIn = (args: readonly string[], terminal: Terminal): string => {
  const options = { config: { type: 'string', short: 'c' } } as const
  const { values } = parseArgs({ args: [...args], options, strict: false })
  return configOf({ values: values as Arguments['values'], positionals: [] }, terminal)
}

/** Prints the commands of the engine and of the plugins, if the configuration can be loaded. */
const showOverview = async (
  isHelp: boolean,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  const engineRows = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, load]) => [name, summaryOf(await load())] as const),
  )
  const { withPluginCommands } = await import('./cli/plugin-commands.ts')
  const { readOnlyDatabase } = await import('./cli/databases.ts')
  const config = configIn(args, terminal)
  const pluginRows = await withPluginCommands(config, terminal, readOnlyDatabase, async commands =>
    [...commands].map(([name, command]) => [name, summaryOf(command)] as const),
  ).catch(() => [])
  const print = isHelp ? terminal.print : terminal.printError
  print(overview(engineRows, pluginRows, terminal))
  return isHelp ? EXIT.ok : EXIT.usage
}

const showProblems = (
  { problems, texts, root, main: file }: ProblemsError,
  argv: readonly string[],
  terminal: Terminal,
): number => {
  const style = formatIn(argv)
  const options = {
    color: terminal.colors,
    ...(root !== undefined && { root }),
    ...(file !== undefined && { main: file }),
  }
  const print = style === 'pretty' ? terminal.printError : terminal.print
  print(format(problems, texts, style, options))
  // An unavailable store is not a problem of the configuration files.
  return problems.every(({ code }) => code.startsWith('STORE_')) ? EXIT.runTime : EXIT.problems
}

const FORMAT = { format: { type: 'string' } } as const
/** The format of problems that the arguments select. */
const formatIn = (argv: readonly string[]): Format => {
  if (argv.includes('--json')) return 'json'
  const { values } = parseArgs({ args: [...argv], options: FORMAT, strict: false })
  const value = values.format
  return value === 'json' || value === 'github' ? value : 'pretty'
}

if (import.meta.main) void mainAndExit(process.argv.slice(2))
