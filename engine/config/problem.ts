/** Problems: configuration errors with source positions; collects, sorts and formats them. */
import { resolve } from 'node:path'
import { format as fill, styleText } from 'node:util'
import { formatPath } from './format-path.ts'

export interface Place {
  /** Displayed path. */
  readonly file: string
  /** Both count from 1. */
  readonly line: number
  readonly column: number
  readonly length?: number
}
export interface Problem extends Place {
  readonly code: string
  readonly message: string
  readonly suggestion?: string
}
export type Texts = ReadonlyMap<string, string>
export type Format = 'pretty' | 'json' | 'github'
export interface FormatOptions {
  /** Base folder of `file`. If set, paths are shown relative to the working directory. */
  readonly root?: string
  readonly color?: boolean
  /** Displayed path of the main file, whose problems come first. */
  readonly main?: string
  /** Problems shown to a person; the rest are counted. */
  readonly limit?: number
}

/** Creates a problem constructor from a table `CODE: 'message with %s'`. */
export const defineProblems =
  <Table extends Readonly<Record<string, string>>>(table: Table) =>
  (
    code: keyof Table & string,
    place: Place,
    args: readonly unknown[] = [],
    suggestion?: string,
  ): Problem => ({
    code,
    message: fill(table[code], ...args),
    file: place.file,
    line: place.line,
    column: place.column,
    ...(place.length !== undefined && { length: place.length }),
    ...(suggestion !== undefined && { suggestion }),
  })

/** All problems of one load. Its message is the formatted text, so that every log of it is useful.
 *  */
export class ProblemsError extends Error {
  readonly problems: readonly Problem[]
  readonly texts: Texts
  readonly root: string | undefined
  readonly main: string | undefined
  /** Paths to watch for a fix while the last good version is live. */
  readonly watchedPaths: readonly string[]

  constructor(
    found: readonly Problem[],
    texts: Texts = new Map(),
    root?: string,
    watchedPaths: readonly string[] = [],
    main?: string,
  ) {
    const where = { ...(root !== undefined && { root }), ...(main !== undefined && { main }) }
    super(format(found, texts, 'pretty', where))
    this.name = 'ProblemsError'
    this.problems = sortProblems(found, main)
    this.main = main
    this.texts = texts
    this.root = root
    this.watchedPaths = watchedPaths
  }
}

/** Ranks problems by their consequences: unreadable text causes most, wrong keys and values some.
 *  */
const CAUSES: readonly RegExp[] = [
  /^(?:YAML_|INCLUDE_|VARIABLE_|JSON_|PLUGIN_|CONFIG_MISSING$|NOT_A_MAP$|UNSAFE_KEY$|DUPLICATE_NAME$|FILE_)/,
  /^(?:UNKNOWN_KEY|MISSING_KEY|WRONG_TYPE|UNKNOWN_VALUE|BAD_VALUE|BAD_NAME|DUPLICATE_ITEM)$/,
]
const rankOf = ({ code }: Problem): number => {
  const rank = CAUSES.findIndex(each => each.test(code))
  return rank < 0 ? CAUSES.length : rank
}

/** Sorts by rank of causes, main file first, then by file, line and column. Removes duplicates. */
export const sortProblems = (found: readonly Problem[], main?: string): readonly Problem[] => {
  const once = new Map(
    found.map(p => [`${p.file}:${p.line}:${p.column}:${p.code}:${p.message}`, p]),
  )
  const beside = ({ file }: Problem): number => (file === main ? 0 : 1)
  return [...once.values()].sort(
    (a, b) =>
      rankOf(a) - rankOf(b) ||
      beside(a) - beside(b) ||
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      a.line - b.line ||
      a.column - b.column,
  )
}

/** Default number of problems for a person: one misplaced word may cause hundreds. */
export const DEFAULT_LIMIT = 20
/** Formats problems for a person, a program (all of them) or a pull request. */
export const format = (
  found: readonly Problem[],
  texts: Texts,
  how: Format,
  options: FormatOptions = {},
): string =>
  FORMATS[how](sortProblems(found, options.main), options.limit ?? DEFAULT_LIMIT, texts, options)

const FORMATS: Readonly<
  Record<Format, (all: readonly Problem[], limit: number, texts: Texts, o: FormatOptions) => string>
> = {
  pretty: (all, limit, texts, options) => {
    const alike = [...Map.groupBy(all, each => `${each.code} ${sentence(each)}`).values()]
    const shown = alike.slice(0, limit)
    const blocks = shown.map(([first, ...others]) =>
      first === undefined
        ? ''
        : [pretty(first, texts.get(first.file), options), ...also(others, options)].join('\n'),
    )
    const rest = all.length - shown.flat().length
    if (rest > 0) blocks.push(`and ${rest} more ${rest === 1 ? 'problem' : 'problems'}`)
    return blocks.join('\n\n')
  },
  json: (all, _limit, _texts, options) => {
    const found = all.map(problem => ({ ...problem, file: shownFile(problem.file, options) }))
    return JSON.stringify({ problems: found, total: all.length }, null, 2)
  },
  github: (all, limit, _texts, options) => {
    const lines = all.slice(0, limit).map(problem => annotation(problem, options))
    const rest = all.length - lines.length
    if (rest > 0) lines.push(`::notice::and ${rest} more`)
    return lines.join('\n')
  },
}

/** Further places that are listed for the same problem. */
const MAX_PLACES = 3
const also = (others: readonly Problem[], options: FormatOptions): readonly string[] => {
  if (others.length === 0) return []
  const named = others.slice(0, MAX_PLACES).map(each => placeOf(each, options))
  const rest = others.length - named.length
  return [`  the same at ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`]
}

const placeOf = ({ file, line, column }: Problem, options: FormatOptions): string =>
  `${shownFile(file, options)}:${line}:${column}`
const shownFile = (file: string, { root }: FormatOptions) =>
  root === undefined ? file : formatPath(resolve(), resolve(root, file))

const sentence = ({ message, suggestion }: Problem) =>
  suggestion === undefined ? message : `${message}; did you mean "${suggestion}"?`

const pretty = (problem: Problem, text: string | undefined, options: FormatOptions) => {
  const paint = (style: Parameters<typeof styleText>[0], words: string) =>
    options.color ? styleText(style, words, { validateStream: false }) : words
  const head = `${paint('bold', placeOf(problem, options))}  ${paint('red', problem.code)}  ${printable(sentence(problem))}`
  const lines = text === undefined ? [] : frame(problem, text)
  return [
    head,
    ...lines.map((line, index) => paint(index === lines.length - 1 ? 'red' : 'dim', line)),
  ].join('\n')
}

/** Characters of a long line on each side of the caret. */
const FRAME_MARGIN = 60

/** The line before, the line itself and the caret. */
const frame = (problem: Problem, text: string): string[] => {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  const line = lines[problem.line - 1]
  if (line === undefined) return []
  const width = String(problem.line).length
  const from = Math.max(0, problem.column - 1 - FRAME_MARGIN)
  const to = problem.column - 1 + FRAME_MARGIN
  const cut = (whole: string) => printable(whole.slice(from, to))
  const carets = Math.max(
    1,
    Math.min(problem.length ?? 1, to - problem.column + 1, line.length - problem.column + 1),
  )
  const margin = printable(line.slice(from, problem.column - 1)).replace(/./gu, blank)
  const before = lines[problem.line - 2]
  return [
    ...(before?.trim() ? [`  ${String(problem.line - 1).padStart(width)} | ${cut(before)}`] : []),
    `  ${problem.line} | ${cut(line)}`,
    `  ${' '.repeat(width)} | ${margin}${'^'.repeat(carets)}`,
  ]
}

/** Glyphs that take two terminal cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u
const blank = (glyph: string) => (WIDE.test(glyph) ? '  ' : ' ')

/** Replaces tabs by one space to keep the caret aligned, and control characters, which could affect
 *  the terminal. */
const printable = (text: string) =>
  text.replaceAll('\t', ' ').replace(/[\u0000-\u001f\u007f-\u009f]/g, '·')

const annotation = (problem: Problem, options: FormatOptions) => {
  const end = problem.column + (problem.length ?? 1)
  const file = property(shownFile(problem.file, options))
  return (
    `::error file=${file},line=${problem.line},col=${problem.column},endColumn=${end}` +
    `,title=${property(problem.code)}::${command(sentence(problem))}`
  )
}

// Escapes of GitHub workflow commands, for messages and for properties.
const command = (text: string) =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const property = (text: string) => command(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
