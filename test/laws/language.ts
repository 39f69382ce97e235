/** Plain language in the source: names that docs/glossary.md bans, comments that are too wide,
 *  literals that are spread to pack lines. */
import { type Breach, lineAt, type SourceFile } from './imports.ts'
import { syntaxOf } from './syntax.ts'

export const GLOSSARY = 'docs/glossary.md'
const COLUMNS = 100
/** Names that stay, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'plugins/slots.ts asked': 'stored as JSON with tasks and responses',
  'plugins/slots.ts held': 'stored as JSON with tasks',
  'plugins/console/client/pages/call.tsx held': 'a member of receipts in the API',
  'plugins/console/client/pages/operator/ledger.tsx held': 'a member of wallets in the API',
  'plugins/views.ts held': 'a member of rows that APIs return',
  'test/laws/syntax.ts left': 'a member of the syntax tree that the parser returns',
}

interface Banned {
  /** Names that are banned as a whole: `told`. */
  readonly whole: ReadonlySet<string>
  /** Words that are banned inside names: `burial` in `BurialsOptions`. */
  readonly parts: ReadonlySet<string>
}

/** The two lists of the glossary: words in backquotes below each heading. */
export const bannedIn = (glossary: string): Banned => {
  const below = (heading: string): ReadonlySet<string> => {
    const section = glossary.split(/^## /m).find(each => each.startsWith(heading)) ?? ''
    return new Set([...section.matchAll(/`([a-z]+)`/g)].map(([, word = '']) => word))
  }
  return { whole: below('Banned as whole names'), parts: below('Banned inside names') }
}

export const bannedNames = (files: readonly SourceFile[]): Breach[] => {
  const glossary = files.find(({ path }) => path === GLOSSARY)
  const bannedWords = bannedIn(glossary?.text ?? '')
  return code(files).flatMap(file =>
    syntaxOf(file).names.flatMap(({ name, offset }) => {
      const word = bannedWord(name, bannedWords)
      const message = `the name ${name}: "${word}" is banned by ${GLOSSARY}`
      const isExempt = EXCEPTIONS[`${file.path} ${name}`] !== undefined
      return word === undefined || isExempt ? [] : [at(file, offset, message)]
    }),
  )
}

const bannedWord = (name: string, { whole, parts }: Banned): string | undefined => {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[\s_$]+/)
    .map(word => word.toLowerCase())
  if (words.length === 1 && whole.has(words[0] ?? '')) return words[0]
  return words.find(word => parts.has(word))
}

export const wideComments = (files: readonly SourceFile[]): Breach[] =>
  code(files).flatMap(file => {
    const lines = file.text.split('\n')
    const wide = new Set(
      syntaxOf(file).comments.flatMap(({ offset, text }) => {
        const first = lineAt(file.text, offset)
        return text.split('\n').map((_, index) => first + index)
      }),
    )
    return [...wide]
      .filter(line => (lines[line - 1]?.length ?? 0) > COLUMNS)
      .map(line => ({
        path: file.path,
        line,
        message: `a comment of ${lines[line - 1]?.length} columns; at most ${COLUMNS}`,
      }))
  })

export const spreadLiterals = (files: readonly SourceFile[]): Breach[] =>
  code(files).flatMap(file =>
    syntaxOf(file).literalSpreads.map(offset =>
      at(file, offset, 'a literal is spread: write its members out'),
    ),
  )

const code = (files: readonly SourceFile[]): readonly SourceFile[] =>
  files.filter(({ path }) =>
    /^(?:engine|examples|plugins|program|test)\/.*\.(?:tsx?|[cm]js)$/.test(path),
  )
const at = (file: SourceFile, offset: number, message: string): Breach => ({
  path: file.path,
  line: lineAt(file.text, offset),
  message,
})

// ---------------------------------------------------------------- turns of phrase

/** Turns of phrase that make docs, comments and messages hard to read. */
const HABITS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  {
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|fewer\b|less\b|later\b|sooner\b|such\b|larger\b|`next`)(?=[a-z`])/gi,
    instead: '"is not a …"',
  },
  {
    pattern: /(?<![-'])\b(?:stands?|stood)\b(?! (?:for|in for)\b|[-'])/gi,
    instead: '"is", "appears" or "comes"',
  },
  {
    pattern: /\bas (?:it is|they are)(?=[.,;:)'"`]| \(| \*\/|$)/gim,
    instead: '"unchanged"',
  },
  { pattern: /\bof (?:ours|theirs|yours)\b/gi, instead: '"our", "their"' },
  {
    pattern:
      /\bwhere (?:needed|possible|none|nothing|(?:it|they|there|the \w+|an? \w+|no \w+) (?:has|have|lacks?|leaves?|sends?|gives?|needs?|does|can|cannot|may|must))\b/g,
    instead: '"if"',
  },
  {
    pattern: /(?:\/\*\* |\/\/ |^|[.:] |^#+ |^- )What (?!\b[^.\n]*\?)/gm,
    instead: 'a sentence that begins with its subject',
  },
]

/** Pages that are made of texts elsewhere. */
const GENERATED = /^docs\/(?:configuration|cli|errors)\.md$/

export const habitBreaches = (files: readonly SourceFile[]): Breach[] =>
  files
    .filter(({ path }) => !GENERATED.test(path) && !path.startsWith('test/laws/'))
    .flatMap(file =>
      HABITS.flatMap(({ pattern, instead }) =>
        [...file.text.matchAll(pattern)].map(match =>
          at(file, match.index, `"${match[0].trim()}": write ${instead}`),
        ),
      ),
    )
