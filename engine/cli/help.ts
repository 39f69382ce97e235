/** The help pages, made from the same tables that parse the arguments. */
import { columns } from './kit.ts'
import { EVERYWHERE, type Option, type Options, type Terminal, type Verb } from './verb.ts'

export const helpOf = (name: string, verb: Verb, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', `tollgate ${name}`)}${verb.usage ? ` ${verb.usage}` : ''} [options]`,
    verb.summary,
    indented(optionRows({ ...verb.options, ...EVERYWHERE })),
    `Example\n  $ tollgate ${verb.example}`,
  ].join('\n\n')

type Rows = readonly (readonly [string, string])[]

/** `lent`: the verbs of the configuration's plugins, with their summaries. */
export const overview = (own: Rows, lent: Rows, terminal: Terminal): string =>
  [
    `${terminal.paint('bold', 'tollgate VERB')} [options]`,
    indented([...own, ...lent]),
    'tollgate VERB --help explains one verb.\nExit codes: 0 ok, 1 problems in the configuration, 2 wrong use, 3 a fault at run time.',
    'Example\n  $ tollgate start',
  ].join('\n\n')

const optionRows = (options: Options): Rows =>
  Object.entries(options).map(([name, option]) => [flags(name, option), option.summary])

const flags = (name: string, { short, type, value, multiple }: Option): string => {
  const word = type === 'string' ? ` ${value ?? 'VALUE'}` : ''
  return `${short ? `-${short}, ` : '    '}--${name}${word}${multiple ? ' …' : ''}`
}

const indented = (rows: Rows): string =>
  columns(rows)
    .map(line => `  ${line}`)
    .join('\n')
