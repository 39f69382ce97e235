/** Writes docs/errors.md from the error tables of the source, the dialects and docs/errors.yaml:
 *  `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { errors } from '../../engine/errors.ts'
import type { Dialect, ErrorRow } from '../../plugins/dialects/dialect.ts'
import { type DialectName, dialects, render } from '../../plugins/dialects/index.ts'
import { fakeExchange } from '../helpers/gateway/fake-exchange.ts'
import { pageOf } from './blocks.ts'
import { type ErrorEntry, errorEntries } from './tables/error-tables.ts'

const PAGE = fileURLToPath(new URL('../../docs/errors.md', import.meta.url))
const NAMES = Object.keys(dialects) as DialectName[]

/** Group -> code -> `cause | way out`. */
export type Explanations = Readonly<Record<string, Readonly<Record<string, string>>>>
export const explanations = (): Explanations => parse(pageOf('docs/errors.yaml'))

/** Faults that no table has: a thrown value that is not a fault. */
const OTHERS: readonly ErrorEntry[] = [
  {
    code: 'INTERNAL',
    status: 500,
    message: 'The gateway failed to process this request.',
    own: [],
  },
]

/** Codes that another page explains, with that page. */
const elsewhere = (): ReadonlyMap<string, string> => {
  const codes = (page: string, pattern: RegExp) =>
    [...pageOf(`docs/${page}`).matchAll(pattern)].map(([code]) => [code, page] as const)
  return new Map([
    ...codes('operate.md', /(?<=^\| .*`)STORE_\w+/gm),
    ...codes('problems.md', /(?<=^### )[A-Z_]+$/gm),
  ])
}

/** Codes of the source without an explanation, and explanations without a code. */
export const differences = (entries: readonly ErrorEntry[], groups: Explanations) => {
  const known = new Set(entries.map(({ code }) => code))
  const explained = new Set(Object.values(groups).flatMap(group => Object.keys(group)))
  const others = elsewhere()
  return {
    unexplained: [...known].filter(code => !explained.has(code) && !others.has(code)),
    unknown: [...explained].filter(code => !known.has(code)),
  }
}

export const sourceErrors = (): readonly ErrorEntry[] => [...errorEntries(), ...OTHERS]

export const errorsPage = (entries: readonly ErrorEntry[], groups: Explanations): string => {
  const sections = Object.entries(groups).map(([title, group]) => {
    const rows = Object.entries(group).flatMap(([code, text]) => rowsOf(code, text, entries))
    return `## ${title}\n\n${HEAD}\n${rows.join('\n')}\n`
  })
  return [INTRODUCTION, dialectsSection(), ...sections].join('\n')
}

const INTRODUCTION = `# Errors

Every error that a running gateway gives to a client or to a command. \`npm run docs\` makes this page from the error tables of the source.

The client gets the status and the message in the dialect of its route (\`errors:\`), with the request id. The log line of the request has the
code and the same id: \`tollgate request ID\` shows it. \`%s\` and \`%d\` in a message stand for a name and a number. A message of status 500
stays in the log; the client reads "The gateway failed to process this request."

Mistakes in the configuration are [problems](problems.md); errors of the store with their ways out are in [operate.md](operate.md).
An error with \`retry-after\`, and each 503 except \`CREDIT_UNCONFIRMED\`, may be sent again unchanged. So may a 502 or 504 of an upstream,
but the provider may have processed the first try.
`
const HEAD = `| code | status | message | cause | way out | in a dialect |\n|---|---|---|---|---|---|`

const rowsOf = (code: string, text: string, entries: readonly ErrorEntry[]): readonly string[] => {
  const [cause = '', wayOut = ''] = text.split(' | ')
  const own = entries.filter(entry => entry.code === code)
  const statuses = [...new Set(own.map(({ status }) => status))].toSorted((a, b) => a - b)
  const messages = [...new Set(own.map(({ message }) => message))].filter(each => each !== '%s')
  const words = [...new Set([...dialectWords(code), ...own.flatMap(ownWords)])]
  const cells = [`\`${code}\``, statuses.join(', '), messages.join(' / '), cause, wayOut]
  return [
    `| ${[...cells, words.join('; ')].map(each => each.replaceAll('|', '\\|')).join(' | ')} |`,
  ]
}
const ownWords = ({ own }: ErrorEntry) => own.map(([dialect, word]) => `${dialect}: \`${word}\``)
const dialectWords = (code: string): readonly string[] =>
  NAMES.flatMap(name => {
    const row = (dialects[name] as Dialect).faults[code]
    return row ? [`${name}: ${wordOf(row)}`] : []
  })
const wordOf = ({ status, type, code }: ErrorRow): string =>
  `${status === undefined ? '' : `${status} `}\`${[type, ...(code === undefined ? [] : [code])].join(' / ')}\``

/** How each dialect writes an error, and its words for each status. */
const dialectsSection = (): string => {
  const fault = errors({ EXAMPLE: [404, "There is no 'x'."] })('EXAMPLE', [], { param: 'x' })
  const exchange = { ...fakeExchange(), id: 'req_1' }
  const bodies = NAMES.map(name => `| \`${name}\` | \`${render(name, fault, exchange).body}\` |`)
  const statuses = new Set(NAMES.flatMap(name => Object.keys(dialects[name].statuses).map(Number)))
  const worded = NAMES.filter(name => name !== 'envelope')
  const rows = [...statuses]
    .toSorted((a, b) => a - b)
    .map(status => {
      const cells = worded.map(name => {
        const row = (dialects[name] as Dialect).statuses[status]
        return row ? wordOf(row) : ''
      })
      return `| ${[status, ...cells].join(' | ')} |`
    })
  return `## Dialects

A 404 with the field \`x\`, as each dialect writes its body. In a stream that has begun, the error is an event of the dialect instead.

| dialect | body |
|---|---|
${bodies.join('\n')}

The words of each status: \`type\` and \`code\` of OpenAI, \`type\` of Anthropic, \`status\` of Google, \`reason\` of Vidu, \`type\` and \`code\` of
Midjourney and new-api. A number before them is the status that this dialect sends instead. An empty cell is like 400 or 500. The last column of the
tables below has the words of single codes.

| status | ${worded.join(' | ')} |
|---|${worded.map(() => '---').join('|')}|
${rows.join('\n')}
`
}

if (import.meta.main) writeFileSync(PAGE, errorsPage(sourceErrors(), explanations()))
