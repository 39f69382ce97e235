/** Runs one command: picks its verb, parses its arguments, prints what it returns. */
import { parseArgs } from 'node:util'
import { nearest } from '../config/nearest.ts'
import type { Fault } from '../plugin.ts'
import type { CommandResult } from './contract.ts'
import { helpOf, usageOf } from './help.ts'
import { columns, EXIT, isUsageError, UsageError } from './kit.ts'
import {
  type Arguments,
  type Command,
  EVERYWHERE,
  type Options,
  type Terminal,
  type Verb,
} from './verb.ts'

/** Resolves to the exit code; rejects with a UsageError for wrong usage. */
export const runCommand = async (
  name: string,
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  const parsed = parse(name, optionsOf(command), args)
  const { path, verb, positionals } = findVerb(name, command, parsed)
  if (parsed.values.help) {
    terminal.out(helpOf(path, verb ?? command, terminal))
    return EXIT.ok
  }
  if (!verb) throw new UsageError(usageOf(path, command))
  const foreign = Object.keys(parsed.values).find(
    option => !(option in EVERYWHERE) && !(option in (verb.options ?? {})),
  )
  if (foreign !== undefined)
    throw new UsageError(`--${foreign} is no option here\n${usageOf(path, verb)}`)
  const [least, most] = countOf(verb)
  if (positionals.length < least || positionals.length > most)
    throw new UsageError(usageOf(path, verb))
  const result = await verb.run({ values: parsed.values, positionals }, terminal)
  if (typeof result === 'number') return result
  terminal.out(printed(result, parsed.values.json === true))
  return result.exit ?? EXIT.ok
}

/** The same for commands of plugins, whose faults are part of what they say: as JSON where that is
 *  asked for. */
export const runPluginCommand = async (
  name: string,
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  try {
    return await runCommand(name, command, args, terminal)
  } catch (thrown) {
    const { code, message, status } = thrown as Fault
    const json = args.includes('--json')
    if (code === undefined && !json) throw thrown
    terminal.say(json ? JSON.stringify({ error: { code, message } }) : message)
    return isUsageError(thrown) || status === MALFORMED ? EXIT.usage : EXIT.runTime
  }
}
/** Status of a fault that is about how something was written, not about how things stand. */
const MALFORMED = 400

const optionsOf = (command: Command): Options =>
  'verbs' in command
    ? Object.assign({}, ...Object.values(command.verbs).map(({ options }) => options), EVERYWHERE)
    : { ...command.options, ...EVERYWHERE }

const parse = (name: string, options: Options, args: readonly string[]): Arguments => {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true }) as Arguments
  } catch (thrown) {
    const wrong = /Unknown option '--?([^']+)'/.exec((thrown as Error).message)?.[1]
    if (wrong === undefined) throw new UsageError((thrown as Error).message)
    throw unknown('option', wrong, Object.keys(options), `see tollgate ${name} --help`)
  }
}

/** `verb` is missing where a table of verbs was asked for by its name alone. */
const findVerb = (name: string, command: Command, { values, positionals }: Arguments) => {
  if (!('verbs' in command)) return { path: name, verb: command as Verb, positionals }
  const [word, ...rest] = positionals
  if (word === undefined) return { path: name, verb: undefined, positionals }
  const verb = Object.hasOwn(command.verbs, word) ? command.verbs[word] : undefined
  if (verb) return { path: `${name} ${word}`, verb, positionals: rest }
  if (values.help) return { path: name, verb: undefined, positionals: rest }
  throw unknown('verb', word, Object.keys(command.verbs), usageOf(name, command))
}

export const unknown = (kind: string, word: string, words: readonly string[], way: string) => {
  const near = nearest(word, words)
  return new UsageError(
    near === undefined
      ? `unknown ${kind} "${word}"; ${way}`
      : `unknown ${kind} "${word}"; did you mean "${near}"?`,
  )
}

/** Minimum and maximum number of arguments of a command. */
const countOf = ({ arguments: words = '' }: Verb): readonly [number, number] => {
  const all = words.split(' ').filter(Boolean)
  return [all.filter(word => !word.startsWith('[')).length, all.length]
}

const printed = ({ rows = [], text, after = '', json }: CommandResult, asJson: boolean): string => {
  if (asJson) return JSON.stringify(json ?? rows, null, 2)
  if (text !== undefined) return text.replace(/\n$/, '')
  const [first] = rows
  const names = Object.keys(first ?? {})
  const lines = rows.map(row => names.map(name => String(row[name] ?? '')))
  const table = first ? columns([names, ...lines]).join('\n') : 'none'
  return `${table}\n${after}`.replace(/\n$/, '')
}
