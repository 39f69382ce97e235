/** What a verb of the command line is, and what it may touch of the terminal. */
import { styleText } from 'node:util'
import { columns, textOf } from './kit.ts'

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** May be given more than once. */
  readonly multiple?: boolean
  /** The word for the value in the help: `--body FILE`. */
  readonly value?: string
  readonly summary: string
}
export type Options = Readonly<Record<string, Option>>

export interface Arguments {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly positionals: readonly string[]
}
export interface Verb {
  /** What follows the verb's name: `METHOD PATH`. */
  readonly usage?: string
  readonly summary: string
  /** A line a user can paste, without the `tollgate`. */
  readonly example: string
  /** Beside those of every verb. */
  readonly options?: Options
  /** How many positionals it takes, at least and at most. */
  readonly takes?: readonly [least: number, most: number]
  /** Resolves to the exit code. */
  run(args: Arguments, terminal: Terminal): Promise<number>
}

/** Options that every verb has. */
export const EVERYWHERE: Options = {
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    summary: 'the configuration; TOLLGATE_CONFIG, else routes.yaml, by default',
  },
  json: { type: 'boolean', summary: 'print JSON, for programs' },
  help: { type: 'boolean', short: 'h', summary: 'print this page' },
}

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** A line, or lines, on stdout. */
  out(text: string): void
  /** The same on stderr. */
  say(text: string): void
  /** Colours, where the terminal shows them and NO_COLOR is not set. */
  paint(style: Parameters<typeof styleText>[0], text: string): string
  readonly colors: boolean
}

export const processTerminal = (): Terminal => {
  const paint: Terminal['paint'] = (style, text) =>
    styleText(style, text, { stream: process.stdout })
  return {
    env: process.env,
    out: text => process.stdout.write(`${text}\n`),
    say: text => process.stderr.write(`${text}\n`),
    paint,
    colors: paint('red', 'x') !== 'x',
  }
}

/** The configuration a verb works on. */
export const configOf = ({ values }: Arguments, { env }: Terminal): string =>
  textOf(values.config) ?? (env.TOLLGATE_CONFIG || 'routes.yaml')

/** Rows as columns of equal width, the first row painted as a head. */
export const table = (rows: readonly (readonly string[])[], terminal: Terminal): string =>
  columns(rows)
    .map((line, index) => (index === 0 ? terminal.paint('bold', line) : line))
    .join('\n')
