/** The help pages, made from the same tables that parse the arguments. */
import { EVERYWHERE, type Option, type Options, type Terminal, type Verb } from './verb.ts'

export const helpOf = (name: string, verb: Verb, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', `tollgate ${name}`)}${verb.usage ? ` ${verb.usage}` : ''} [options]`,
    verb.summary,
    columns(optionRows({ ...verb.options, ...EVERYWHERE })),
    `Example\n  $ tollgate ${verb.example}`,
  ].join('\n\n')

type Rows = readonly (readonly [string, string])[]

/** `lent`: the verbs of the configuration's plugins, with their summaries. */
export const overview = (own: Rows, lent: Rows, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', 'tollgate VERB')} [options]`,
    columns([...own, ...lent]),
    'tollgate VERB --help explains one verb.\nExit codes: 0 ok, 1 problems in the configuration, 2 wrong use, 3 a fault at run time.',
    'Example\n  $ tollgate start',
  ].join('\n\n')

const optionRows = (options: Options): Rows =>
  Object.entries(options).map(([name, option]) => [flags(name, option), option.summary])

const flags = (name: string, { short, type, value, multiple }: Option): string => {
  const word = type === 'string' ? ` ${value ?? 'VALUE'}` : ''
  return `${short ? `-${short}, ` : '    '}--${name}${word}${multiple ? ' …' : ''}`
}

const columns = (rows: Rows): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join('\n')
}
