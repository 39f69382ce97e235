/** Which folder owns which table of the store: the folder whose migrations create it. Reads SQL in
 *  source text. */
import { lineAt, type SourceFile } from './imports.ts'

interface Breach {
  readonly path: string
  readonly line: number
  readonly message: string
}

const TABLE_CREATION = /\bCREATE TABLE(?: IF NOT EXISTS)? (\w+)/g
/** A table name follows each of these words; FROM may have a list. */
const TABLE_NAMES =
  /\b(?:FROM|JOIN|INTO|UPDATE|TABLE|REFERENCES|ON|OF)\s+(?:ONLY\s+)?(\w+)((?:\s+(?:AS\s+)?[a-z]\w*)?(?:,\s*\w+(?:\s+(?:AS\s+)?[a-z]\w*)?)*)/g
/** Row locks of a statement name their table outside of SQL. */
const TABLE_LOCK = /\btable: '(\w+)'/g
/** The computation of a wallet number. */
const WALLET_NUMBER = /\b(?:account|key|id|wallet) ?[*/%] ?2\b/g
const WALLETS = 'plugins/ledger/wallet.ts'

/** Applied migrations, whose text must not change. */
const EXEMPT_MIGRATIONS: Readonly<Record<string, RegExp>> = {
  'plugins/notify/tables.ts': /^(?:wallets|id [/%] 2)$/,
}

/** Uses of tables of another folder, and wallet numbers computed outside of their owner. */
export const tableBreaches = (files: readonly SourceFile[]): readonly Breach[] => {
  const source = files.filter(({ path }) => /^(?:engine|examples|plugins|program)\//.test(path))
  const owners = new Map(
    source.flatMap(file => tablesCreatedIn(file).map(name => [name, ownerOf(file.path)])),
  )
  return source.flatMap(({ path, text }) => [
    ...namesIn(text).flatMap(({ name, at }) => {
      const owner = owners.get(name)
      const own =
        owner === undefined || owner === ownerOf(path) || EXEMPT_MIGRATIONS[path]?.test(name)
      const message = `the table ${name} belongs to ${owner}/: import a statement or a part of one`
      return own ? [] : [{ path, line: lineAt(text, at), message }]
    }),
    ...[...text.matchAll(WALLET_NUMBER)].flatMap(({ 0: expression, index }) =>
      path === WALLETS || EXEMPT_MIGRATIONS[path]?.test(expression)
        ? []
        : [
            {
              path,
              line: lineAt(text, index),
              message: `"${expression}": ${WALLETS} owns wallet numbers`,
            },
          ],
    ),
  ])
}

/** `engine/store` or `plugins/ledger`, however deep a file lies in it. */
const ownerOf = (path: string): string => path.split('/').slice(0, 2).join('/')
const tablesCreatedIn = ({ text }: SourceFile): readonly string[] =>
  [...text.matchAll(TABLE_CREATION)].map(([, name = '']) => name)

const namesIn = (text: string): { readonly name: string; readonly at: number }[] => [
  ...[...text.matchAll(TABLE_NAMES)].flatMap(({ 1: first = '', 2: rest = '', index: at }) => {
    const others = rest
      .split(',')
      .slice(1)
      .flatMap(each => each.trim().split(/\s/)[0] ?? [])
    return [first, ...others].map(name => ({ name, at }))
  }),
  ...[...text.matchAll(TABLE_LOCK)].map(({ 1: name = '', index: at }) => ({ name, at })),
]
