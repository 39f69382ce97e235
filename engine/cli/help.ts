/** The help pages, made from the same tables that parse the arguments. */
import { COMMON, type Option, type Options, type Terminal, type Verb } from './verb.ts'

export const helpOf = (name: string, verb: Verb, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', `tollgate ${name}`)}${verb.usage ? ` ${verb.usage}` : ''} [options]`,
    verb.summary,
    optionLines({ ...verb.options, ...COMMON }),
    `Example\n  $ tollgate ${verb.example}`,
  ].join('\n\n')

export const overview = (
  summaries: Readonly<Record<string, string>>,
  lent: readonly string[],
  terminal: Terminal,
): string =>
  [
    `${terminal.paint('bold', 'tollgate VERB')} [options]`,
    columns(Object.entries(summaries)),
    `Lent by plugins of the configuration: ${lent.length > 0 ? lent.join(', ') : 'none'}`,
    'tollgate VERB --help explains one verb. Exit codes: 0 ok, 1 problems in the configuration, 2 wrong use, 3 a fault at run time.',
    'Example\n  $ tollgate start',
  ].join('\n\n')

const optionLines = (options: Options): string =>
  columns(Object.entries(options).map(([name, option]) => [flags(name, option), option.summary]))

const flags = (name: string, { short, type, value, multiple }: Option): string => {
  const word = type === 'string' ? ` ${value ?? 'VALUE'}` : ''
  return `${short ? `-${short}, ` : '    '}--${name}${word}${multiple ? ' …' : ''}`
}

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
