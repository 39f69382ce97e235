/** Help pages and usage lines, generated from the tables that parse the arguments. */
import {
  COMMON_OPTIONS,
  type Command,
  type Options,
  type SingleCommand,
  type Terminal,
} from './command.ts'
import type { CommandOption } from './contract.ts'
import { columns } from './kit.ts'

/** The page of a command, or of a command group. `name`: `keys`, or `keys create`. */
export const helpOf = (name: string, command: Command, terminal: Terminal): string =>
  'subcommands' in command
    ? groupPage(name, command, terminal)
    : commandPage(name, command, terminal)

const commandPage = (name: string, command: SingleCommand, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', `${terminal.program()} ${name}`)}${argumentsText(command)} [options]`,
    command.summary,
    indentRows(optionRows({ ...command.options, ...COMMON_OPTIONS })),
    exampleOf(command, terminal),
  ].join('\n\n')

const groupPage = (
  name: string,
  { summary, subcommands, default: first }: Extract<Command, { subcommands: unknown }>,
  terminal: Terminal,
): string => {
  const entries = Object.entries(subcommands)
  const program = terminal.program()
  return [
    `${terminal.paint('bold', `${program} ${name} ${first ? '[COMMAND]' : 'COMMAND'}`)} [options]`,
    summary,
    indentRows(entries.map(([name, each]) => [`${name}${argumentsText(each)}`, each.summary])),
    `${program} ${name} COMMAND --help explains one command.${first ? ` Without one: ${first}.` : ''}`,
    indentRows(optionRows(COMMON_OPTIONS)),
    ...entries.slice(0, 1).map(([, each]) => exampleOf(each, terminal)),
  ].join('\n\n')
}
const argumentsText = ({ arguments: names }: SingleCommand): string =>
  names === undefined ? '' : ` ${names}`
const exampleOf = ({ example }: SingleCommand, terminal: Terminal): string =>
  `Example\n  $ ${terminal.program()} ${example.replace(/^tollgate /, '')}`

/** `Usage: tollgate keys create ACCOUNT [--name NAME]`: one line for each command of a group. */
export const usageOf = (name: string, command: Command): string => {
  const lines =
    'subcommands' in command
      ? Object.entries(command.subcommands).map(([subcommand, each]) =>
          usageLine(`${name} ${subcommand}`, each),
        )
      : [usageLine(name, command)]
  return lines.map((line, index) => `${index === 0 ? 'Usage:' : '      '} ${line}`).join('\n')
}
const usageLine = (name: string, command: SingleCommand): string =>
  [
    `tollgate ${name}${argumentsText(command)}`,
    ...Object.entries(command.options ?? {}).map(
      ([option, each]) => `[--${option}${valueName(each)}]`,
    ),
  ].join(' ')

type Rows = readonly (readonly [string, string])[]

/** The page of `tollgate --help`: commands of the engine, then those of plugins. */
export const overview = (engineRows: Rows, pluginRows: Rows, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', `${terminal.program()} COMMAND`)} [options]`,
    indentRows([...engineRows, ...pluginRows]),
    `${terminal.program()} COMMAND --help explains one command.\nExit codes: 0 ok, 1 problems in the configuration, 2 wrong use, 3 a fault at run time.`,
    `Example\n  $ ${terminal.program()} start`,
  ].join('\n\n')

/** The sentence of a command in the overview; of a group also the names of its commands. */
export const summaryOf = (command: Command): string =>
  'subcommands' in command
    ? `${command.summary.replace(/\.$/, '')}: ${Object.keys(command.subcommands).join(', ')}.`
    : command.summary

const optionRows = (options: Options): Rows =>
  Object.entries(options).map(([name, option]) => [flags(name, option), option.summary])

const flags = (name: string, option: CommandOption): string => {
  const { short, multiple } = option
  return `${short ? `-${short}, ` : '    '}--${name}${valueName(option)}${multiple ? ' …' : ''}`
}
const valueName = ({ type, value }: CommandOption): string =>
  type === 'string' ? ` ${value ?? 'VALUE'}` : ''

const indentRows = (rows: Rows): string =>
  columns(rows)
    .map(line => `  ${line}`)
    .join('\n')
