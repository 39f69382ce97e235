/** Help pages and usage lines, generated from the tables that parse the arguments. */
import type { CommandOption } from './contract.ts'
import { columns } from './kit.ts'
import { type Command, EVERYWHERE, type Options, type Terminal, type Verb } from './verb.ts'

/** The page of a verb, or of a table of verbs. `name`: `keys`, or `keys create`. */
export const helpOf = (name: string, command: Command, terminal: Terminal): string =>
  'verbs' in command ? tablePage(name, command, terminal) : verbPage(name, command, terminal)

const verbPage = (name: string, verb: Verb, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', `tollgate ${name}`)}${behind(verb.arguments)} [options]`,
    verb.summary,
    indented(optionRows({ ...verb.options, ...EVERYWHERE })),
    exampleOf(verb),
  ].join('\n\n')

const tablePage = (
  name: string,
  { summary, verbs }: Extract<Command, { verbs: unknown }>,
  terminal: Terminal,
): string => {
  const entries = Object.entries(verbs)
  return [
    `${terminal.paint('bold', `tollgate ${name} VERB`)} [options]`,
    summary,
    indented(entries.map(([word, verb]) => [`${word}${behind(verb.arguments)}`, verb.summary])),
    `tollgate ${name} VERB --help explains one verb.`,
    indented(optionRows(EVERYWHERE)),
    ...entries.slice(0, 1).map(([, verb]) => exampleOf(verb)),
  ].join('\n\n')
}
const behind = (words: string | undefined): string => (words === undefined ? '' : ` ${words}`)
const exampleOf = ({ example }: Verb): string =>
  `Example\n  $ tollgate ${example.replace(/^tollgate /, '')}`

/** `Usage: tollgate keys create ACCOUNT [--name NAME]`: a line a verb. */
export const usageOf = (name: string, command: Command): string => {
  const lines =
    'verbs' in command
      ? Object.entries(command.verbs).map(([word, verb]) => usageLine(`${name} ${word}`, verb))
      : [usageLine(name, command)]
  return lines.map((line, at) => `${at === 0 ? 'Usage:' : '      '} ${line}`).join('\n')
}
const usageLine = (name: string, { arguments: words, options = {} }: Verb): string =>
  [
    `tollgate ${name}${behind(words)}`,
    ...Object.entries(options).map(([option, each]) => `[--${option}${wordOf(each)}]`),
  ].join(' ')

type Rows = readonly (readonly [string, string])[]

/** `own`: commands of the engine; `lent`: commands of plugins. */
export const overview = (own: Rows, lent: Rows, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', 'tollgate VERB')} [options]`,
    indented([...own, ...lent]),
    'tollgate VERB --help explains one verb.\nExit codes: 0 ok, 1 problems in the configuration, 2 wrong use, 3 a fault at run time.',
    'Example\n  $ tollgate start',
  ].join('\n\n')

/** A command in the overview: its sentence, and its verbs. */
export const summaryOf = (command: Command): string =>
  'verbs' in command
    ? `${command.summary.replace(/\.$/, '')}: ${Object.keys(command.verbs).join(', ')}.`
    : command.summary

const optionRows = (options: Options): Rows =>
  Object.entries(options).map(([name, option]) => [flags(name, option), option.summary])

const flags = (name: string, option: CommandOption): string => {
  const { short, multiple } = option
  return `${short ? `-${short}, ` : '    '}--${name}${wordOf(option)}${multiple ? ' …' : ''}`
}
const wordOf = ({ type, value }: CommandOption): string =>
  type === 'string' ? ` ${value ?? 'VALUE'}` : ''

const indented = (rows: Rows): string =>
  columns(rows)
    .map(line => `  ${line}`)
    .join('\n')
