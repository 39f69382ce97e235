/** The run-time errors of the source: the rows of every table that is given to `errors`. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'

const root = fileURLToPath(new URL('../../..', import.meta.url))

export interface ErrorEntry {
  readonly code: string
  readonly status: number
  readonly message: string
  /** Words that the code's own table sets in one dialect. */
  readonly own: readonly (readonly [dialect: string, word: string])[]
}

/** Every row of the source, ordered by file. A code may be in several tables. */
export const errorEntries = (): readonly ErrorEntry[] =>
  globSync('{engine,plugins,program}/**/*.ts', { cwd: root })
    .toSorted()
    .flatMap(path => entriesOf(path, readFileSync(join(root, path), 'utf8')))

export const entriesOf = (path: string, text: string): readonly ErrorEntry[] => {
  if (!text.includes('errors(')) return []
  const entries: ErrorEntry[] = []
  new Visitor({
    CallExpression({ callee, arguments: [table] }) {
      if (callee.type !== 'Identifier' || callee.name !== 'errors') return
      if (table?.type !== 'ObjectExpression') return
      for (const property of table.properties) {
        if (property.type !== 'Property' || property.value.type !== 'ArrayExpression')
          throw new Error(`${path}: a row that is not an array`)
        const [status, message, traits] = property.value.elements
        const source = traits ? text.slice(traits.start, traits.end) : ''
        entries.push({
          code: text.slice(property.key.start, property.key.end),
          status: Number(status && text.slice(status.start, status.end)),
          message: message?.type === 'Literal' ? String(message.value) : '',
          own: ownWords(source),
        })
      }
    },
  }).visit(parseSync(path, text).program)
  return entries
}

/** `as: { openai: { type: 'a', code: 'b' } }`, or `as: code('b')`, which is OpenAI's. */
const ownWords = (traits: string): readonly (readonly [string, string])[] => {
  const [, call] = /as: code\('(\w+)'\)/.exec(traits) ?? []
  if (call !== undefined) return [['openai', call]]
  return [...traits.matchAll(/(\w+): \{((?: (?:type|code): '\w+',?)+) \}/g)].flatMap(
    ([, dialect = '', members = '']) => {
      const words = [...members.matchAll(/'(\w+)'/g)].map(([, word = '']) => word)
      return [[dialect, words.join(' / ')] as const]
    },
  )
}
