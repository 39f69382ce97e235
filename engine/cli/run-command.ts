/** Runs one command: finds the subcommand of a group, parses the arguments, prints the result. */
import { parseArgs } from 'node:util'
import { nearest } from '../config/nearest.ts'
import type { Fault } from '../plugin.ts'
import {
  type Arguments,
  COMMON_OPTIONS,
  type Command,
  type Options,
  type SingleCommand,
  type Terminal,
} from './command.ts'
import type { CommandResult } from './contract.ts'
import { helpOf, usageOf } from './help.ts'
import { columns, EXIT, isNeedsRoutesError, isUsageError, printable, UsageError } from './kit.ts'
import { asStarted } from './program/program-name.ts'

/** Resolves to the exit code; rejects with a UsageError for wrong usage. */
export const runCommand = async (
  name: string,
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  const input = parse(name, optionsOf(command), args)
  const { path, single, positionals } = findSubcommand(name, command, input)
  if (input.values.help) {
    terminal.print(helpOf(path, single ?? command, terminal))
    return EXIT.ok
  }
  if (!single) throw new UsageError(usageOf(path, command))
  const foreign = Object.keys(input.values).find(
    option => !(option in COMMON_OPTIONS) && !(option in (single.options ?? {})),
  )
  if (foreign !== undefined)
    throw new UsageError(`--${foreign} is not an option here\n${usageOf(path, single)}`)
  const [minimum, maximum] = argumentCounts(single)
  if (positionals.length < minimum || positionals.length > maximum)
    throw new UsageError(usageOf(path, single))
  const result = await single.run({ values: input.values, positionals }, terminal)
  if (typeof result === 'number') return result
  terminal.print(formatResult(result, input.values.json === true, terminal))
  return result.exit ?? EXIT.ok
}

/** Runs a command of a plugin. Prints its faults; with `--json`, as JSON. */
export const runPluginCommand = async (
  name: string,
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  try {
    return await runCommand(name, command, args, terminal)
  } catch (error) {
    const { code, status } = error as Fault
    const isJson = args.includes('--json')
    if (isNeedsRoutesError(error) || (code === undefined && !isJson)) throw error
    printFault(error, isJson, terminal)
    return isUsageError(error) || status === BAD_REQUEST ? EXIT.usage : EXIT.runTime
  }
}
/** An error with a code explains itself; anything else is a bug. */
export const printFault = (error: unknown, isJson: boolean, terminal: Terminal): void => {
  const { code, message, stack } = error as Error & { readonly code?: string }
  const text = code ? message : (stack ?? message)
  terminal.printError(isJson ? JSON.stringify({ error: { code, message } }) : text)
}

/** Status of a fault in the arguments, not in the state of the gateway. */
const BAD_REQUEST = 400

const optionsOf = (command: Command): Options =>
  'subcommands' in command
    ? Object.assign(
        {},
        ...Object.values(command.subcommands).map(({ options }) => options),
        COMMON_OPTIONS,
      )
    : { ...command.options, ...COMMON_OPTIONS }

const parse = (name: string, options: Options, args: readonly string[]): Arguments => {
  try {
    const marked = args.map(each => (NEGATIVE.test(each) ? MARK + each : each))
    const { values, positionals } = parseArgs({ args: marked, options, allowPositionals: true })
    const plain = Object.entries(values).map(([key, value]) => [key, unmark(value)])
    return { values: Object.fromEntries(plain), positionals: positionals.map(unmark) } as Arguments
  } catch (error) {
    const { message } = error as Error
    const option = /Unknown option '--?([^']+)'/.exec(message)?.[1]
    if (option === undefined) throw new UsageError(message)
    throw unknownWord('option', option, Object.keys(options), `see tollgate ${name} --help`)
  }
}

/** A negative number is a value that the command judges, and no option. */
const NEGATIVE = /^-[0-9.]/
const MARK = '\u0000'
const unmark = (value: unknown): unknown =>
  typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : value

/** The command that the arguments select, with its full name. `single` is undefined if they name
 *  a group without one of its commands. */
const findSubcommand = (name: string, command: Command, { values, positionals }: Arguments) => {
  if (!('subcommands' in command)) return { path: name, single: command, positionals }
  const { subcommands } = command
  const [word, ...rest] = positionals
  if (word === undefined) {
    const first = values.help ? undefined : command.default
    const single = first === undefined ? undefined : subcommands[first]
    return { path: single ? `${name} ${first}` : name, single, positionals }
  }
  const single = Object.hasOwn(subcommands, word) ? subcommands[word] : undefined
  if (single) return { path: `${name} ${word}`, single, positionals: rest }
  if (values.help) return { path: name, single: undefined, positionals: rest }
  throw unknownWord('command', word, Object.keys(subcommands), usageOf(name, command))
}

/** An error for a word that is not among `words`: suggests the nearest, else prints `hint`. */
export const unknownWord = (kind: string, word: string, words: readonly string[], hint: string) => {
  const suggestion = nearest(word, words)
  return new UsageError(
    suggestion === undefined
      ? `unknown ${kind} "${word}"; ${hint}`
      : `unknown ${kind} "${word}"; did you mean "${suggestion}"?`,
  )
}

/** Minimum and maximum number of arguments of a command. */
const argumentCounts = ({ arguments: names = '' }: SingleCommand): readonly [number, number] => {
  const all = names.split(' ').filter(Boolean)
  return [all.filter(name => !name.startsWith('[')).length, all.length]
}

const formatResult = (result: CommandResult, asJson: boolean, terminal: Terminal): string => {
  const { rows = [], text, after = '', json } = result
  if (asJson) return JSON.stringify(json ?? rows, null, 2)
  if (text !== undefined) return text.replace(/\n$/, '')
  const [first] = rows
  const names = Object.keys(first ?? {})
  const lines = rows.map(row => names.map(name => printable(String(row[name] ?? ''))))
  const table = first ? columns([names, ...lines]).join('\n') : 'none'
  return `${table}\n${asStarted(after, terminal.program)}`.replace(/\n$/, '')
}
