/** Which folder owns which table of the store: the one whose migrations make it. Reads SQL in source text. */
import { lineAt, type SourceFile } from './imports.ts'

interface Breach {
  readonly path: string
  readonly line: number
  readonly message: string
}

const MADE = /\bCREATE TABLE(?: IF NOT EXISTS)? (\w+)/g
/** A name behind one of these words is a table's, as is every other one of a list behind FROM. */
const NAMED =
  /\b(?:FROM|JOIN|INTO|UPDATE|TABLE|REFERENCES|ON|OF)\s+(?:ONLY\s+)?(\w+)((?:\s+(?:AS\s+)?[a-z]\w*)?(?:,\s*\w+(?:\s+(?:AS\s+)?[a-z]\w*)?)*)/g
/** The rows that a statement locks name their table outside of SQL. */
const LOCKED = /\btable: '(\w+)'/g
/** How the number of a wallet comes about. */
const WALLET_NUMBER = /\b(?:account|key|id|wallet) ?[*/%] ?2\b/g
const WALLETS = 'plugins/ledger/wallet.ts'

/** What migrations said before there was a law: what has been applied keeps its text. */
const APPLIED: Readonly<Record<string, RegExp>> = {
  'plugins/notify/tables.ts': /^(?:wallets|id [/%] 2)$/,
}

/** Every table that another folder makes, and every wallet number that is computed outside of its owner. */
export const tableBreaches = (files: readonly SourceFile[]): readonly Breach[] => {
  const source = files.filter(({ path }) => /^(?:engine|plugins)\//.test(path))
  const owners = new Map(
    source.flatMap(file => madeIn(file).map(name => [name, ownerOf(file.path)])),
  )
  return source.flatMap(({ path, text }) => [
    ...namesIn(text).flatMap(({ name, at }) => {
      const owner = owners.get(name)
      const own = owner === undefined || owner === ownerOf(path) || APPLIED[path]?.test(name)
      const message = `the table ${name} belongs to ${owner}/: import a statement or a part of one`
      return own ? [] : [{ path, line: lineAt(text, at), message }]
    }),
    ...[...text.matchAll(WALLET_NUMBER)].flatMap(({ 0: written, index }) =>
      path === WALLETS || APPLIED[path]?.test(written)
        ? []
        : [
            {
              path,
              line: lineAt(text, index),
              message: `"${written}": ${WALLETS} owns wallet numbers`,
            },
          ],
    ),
  ])
}

/** `engine/store` or `plugins/ledger`, however deep a file lies in it. */
const ownerOf = (path: string): string => path.split('/').slice(0, 2).join('/')
const madeIn = ({ text }: SourceFile): readonly string[] =>
  [...text.matchAll(MADE)].map(([, name = '']) => name)

const namesIn = (text: string): { readonly name: string; readonly at: number }[] => [
  ...[...text.matchAll(NAMED)].flatMap(({ 1: first = '', 2: rest = '', index: at }) => {
    const others = rest
      .split(',')
      .slice(1)
      .flatMap(each => each.trim().split(/\s/)[0] ?? [])
    return [first, ...others].map(name => ({ name, at }))
  }),
  ...[...text.matchAll(LOCKED)].map(({ 1: name = '', index: at }) => ({ name, at })),
]
