/** The types of the engine's own commands, and their access to the terminal. */
import { styleText } from 'node:util'
import type {
  CommandArguments,
  CommandOf,
  CommandOption,
  ReportProgress,
  SingleCommandOf,
} from './contract.ts'
import { columns, textOf } from './kit.ts'
import { asStarted, programIn } from './program/program-name.ts'

/** Commands of the engine run with the terminal. */
export type SingleCommand = SingleCommandOf<Terminal>
export type Command = CommandOf<Terminal>
export type Arguments = CommandArguments
export type Options = Readonly<Record<string, CommandOption>>

/** Options of every command. */
export const COMMON_OPTIONS: Options = {
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    summary: 'the configuration; TOLLGATE_CONFIG, else routes.yaml, by default',
  },
  anyway: {
    type: 'boolean',
    summary: 'also on a store that was moved, or on another one than the running gateway uses',
  },
  json: { type: 'boolean', summary: 'print JSON, for programs' },
  help: { type: 'boolean', short: 'h', summary: 'print this page' },
}

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Prints lines to stdout. */
  print(text: string): void
  /** Prints lines to stderr. In commands of messages, `tollgate` becomes what runs this program. */
  printError(text: string): void
  /** The words before the name of a command that run this program in a folder, by default here. */
  program(folder?: string): string
  /** Applies colours if the terminal supports them and NO_COLOR is not set. */
  paint(style: Parameters<typeof styleText>[0], text: string): string
  readonly colors: boolean
  /** ms between two lines of progress of long work; undefined: nobody reads stderr, and no progress
   *  is printed. */
  readonly progressInterval: number | undefined
}

const PROGRESS_INTERVAL = 2_000
/** Prints how far long work is, now and then, where a person reads it; nothing twice. */
export const progressOn = ({
  progressInterval,
  printError,
}: Pick<Terminal, 'progressInterval' | 'printError'>): ReportProgress => {
  let last = performance.now()
  let lastText = ''
  return (what, done, all, unit) => {
    const text = `${what}: ${done} of ${all} ${unit}`
    const isDue = progressInterval !== undefined && performance.now() - last >= progressInterval
    if (!isDue || text === lastText) return
    last = performance.now()
    lastText = text
    printError(text)
  }
}

export const processTerminal = (): Terminal => {
  const paint: Terminal['paint'] = (style, text) =>
    styleText(style, text, { stream: process.stdout })
  return {
    env: process.env,
    print: text => process.stdout.write(`${text}\n`),
    printError: text => process.stderr.write(`${asStarted(text)}\n`),
    program: programIn,
    paint,
    colors: paint('red', 'x') !== 'x',
    progressInterval: process.stderr.isTTY ? PROGRESS_INTERVAL : undefined,
  }
}

/** Path of the configuration of a command. */
export const configOf = ({ values }: Arguments, { env }: Terminal): string =>
  textOf(values.config) ?? (env.TOLLGATE_CONFIG || 'routes.yaml')

/** Formats rows as columns of equal width, with the first row as header. */
export const table = (rows: readonly (readonly string[])[], terminal: Terminal): string =>
  columns(rows)
    .map((line, index) => (index === 0 ? terminal.paint('bold', line) : line))
    .join('\n')
