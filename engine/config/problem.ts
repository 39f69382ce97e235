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
  /** Of an unknown key: the keys that its map may have. */
  readonly allowed?: readonly string[]
  /** Of advice by `tollgate lint`; problems have none. */
  readonly severity?: 'error' | 'warning' | 'info'
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

/** Returns a function that creates problems of a table `CODE: 'message with %s'`. */
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

/** All problems of one load. Its message is the formatted text, for logs. */
export class ProblemsError extends Error {
  readonly problems: readonly Problem[]
  readonly texts: Texts
  readonly root: string | undefined
  readonly main: string | undefined
  /** Paths to watch for a fix while the last good version is live. */
  readonly watchedPaths: readonly string[]

  constructor(
    problems: readonly Problem[],
    texts: Texts = new Map(),
    root?: string,
    watchedPaths: readonly string[] = [],
    main?: string,
  ) {
    const where = { ...(root !== undefined && { root }), ...(main !== undefined && { main }) }
    super(format(problems, texts, 'pretty', where))
    this.name = 'ProblemsError'
    this.problems = sortProblems(problems, main)
    this.main = main
    this.texts = texts
    this.root = root
    this.watchedPaths = watchedPaths
  }
}

/** Codes of problems that cause others: first of unreadable files, then of keys and values. */
const CAUSES: readonly RegExp[] = [
  /^(?:YAML_|INCLUDE_|VARIABLE_|JSON_|PLUGIN_|CONFIG_MISSING$|NOT_A_MAP$|UNSAFE_KEY$|DUPLICATE_NAME$|FILE_)/,
  /^(?:UNKNOWN_KEY|MISSING_KEY|WRONG_TYPE|UNKNOWN_VALUE|BAD_VALUE|BAD_NAME|DUPLICATE_ITEM)$/,
]
const rankOf = ({ code }: Problem): number => {
  const rank = CAUSES.findIndex(each => each.test(code))
  return rank < 0 ? CAUSES.length : rank
}

/** Sorts by rank of causes, main file first, then by file, line and column. Removes duplicates. */
export const sortProblems = (problems: readonly Problem[], main?: string): readonly Problem[] => {
  const unique = new Map(
    problems.map(p => [`${p.file}:${p.line}:${p.column}:${p.code}:${p.message}`, p]),
  )
  const fileRank = ({ file }: Problem): number => (file === main ? 0 : 1)
  return [...unique.values()].sort(
    (a, b) =>
      rankOf(a) - rankOf(b) ||
      fileRank(a) - fileRank(b) ||
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) ||
      a.line - b.line ||
      a.column - b.column,
  )
}

/** Default number of problems for a person: one misplaced word may cause hundreds of problems. */
export const DEFAULT_LIMIT = 20
/** Formats problems for a person, for a program (`json`: all problems) or for a pull request. */
export const format = (
  problems: readonly Problem[],
  texts: Texts,
  style: Format,
  options: FormatOptions = {},
): string =>
  FORMATS[style](
    sortProblems(problems, options.main),
    options.limit ?? DEFAULT_LIMIT,
    texts,
    options,
  )

const FORMATS: Readonly<
  Record<Format, (all: readonly Problem[], limit: number, texts: Texts, o: FormatOptions) => string>
> = {
  pretty: (all, limit, texts, options) => {
    const groups = [...Map.groupBy(all, each => `${each.code} ${problemText(each)}`).values()]
    const visible = groups.slice(0, limit)
    const blocks = visible.map(([first, ...others]) =>
      first === undefined
        ? ''
        : [pretty(first, texts.get(first.file), options), ...also(others, options)].join('\n'),
    )
    const rest = all.length - visible.flat().length
    if (rest > 0) blocks.push(`and ${rest} more ${rest === 1 ? 'problem' : 'problems'}`)
    return blocks.join('\n\n')
  },
  json: (all, _limit, _texts, options) => {
    const problems = all.map(problem => ({ ...problem, file: shownFile(problem.file, options) }))
    return JSON.stringify({ problems, total: all.length }, null, 2)
  },
  github: (all, limit, _texts, options) => {
    const lines = all.slice(0, limit).map(problem => annotation(problem, options))
    const rest = all.length - lines.length
    if (rest > 0) lines.push(`::notice::and ${rest} more`)
    return lines.join('\n')
  },
}

/** Number of further places that are listed for the same problem. */
const MAX_PLACES = 3
const also = (others: readonly Problem[], options: FormatOptions): readonly string[] => {
  if (others.length === 0) return []
  const places = others.slice(0, MAX_PLACES).map(each => placeOf(each, options))
  const rest = others.length - places.length
  return [`  the same at ${places.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`]
}

const placeOf = ({ file, line, column }: Problem, options: FormatOptions): string =>
  `${shownFile(file, options)}:${line}:${column}`
const shownFile = (file: string, { root }: FormatOptions) =>
  root === undefined ? file : formatPath(resolve(), resolve(root, file))

/** Its message with the suggestion, wherever it is shown. */
export const problemText = ({ message, suggestion }: Problem): string =>
  suggestion === undefined ? message : `${message}; did you mean "${suggestion}"?`
/** The text of terminals, the console and editors for an unknown key. */
export const allowedKeys = (names: readonly string[]): string =>
  `Allowed keys: ${names.join(', ') || 'none'}`
export const problemHint = ({ allowed }: Problem): string | undefined =>
  allowed && allowedKeys(allowed)

const pretty = (problem: Problem, text: string | undefined, options: FormatOptions) => {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    options.color ? styleText(style, text, { validateStream: false }) : text
  const { severity } = problem
  const hint = problemHint(problem)
  const code = severity === undefined ? problem.code : `${severity} ${problem.code}`
  const head = `${paint('bold', placeOf(problem, options))}  ${paint('red', code)}  ${printable(problemText(problem))}`
  const lines = text === undefined ? [] : frame(problem, text)
  return [
    head,
    ...lines.map((line, index) => paint(index === lines.length - 1 ? 'red' : 'dim', line)),
    ...(hint === undefined ? [] : [`  ${printable(hint)}`]),
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
  const clip = (whole: string) => printable(whole.slice(from, to))
  const carets = Math.max(
    1,
    Math.min(problem.length ?? 1, to - problem.column + 1, line.length - problem.column + 1),
  )
  const margin = printable(line.slice(from, problem.column - 1)).replace(/./gu, blank)
  const before = lines[problem.line - 2]
  return [
    ...(before?.trim() ? [`  ${String(problem.line - 1).padStart(width)} | ${clip(before)}`] : []),
    `  ${problem.line} | ${clip(line)}`,
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
    `::${ANNOTATIONS[problem.severity ?? 'error']} file=${file},line=${problem.line},col=${problem.column},endColumn=${end}` +
    `,title=${property(problem.code)}::${command([problemText(problem), problemHint(problem)].filter(Boolean).join('\n'))}`
  )
}
const ANNOTATIONS = { error: 'error', warning: 'warning', info: 'notice' } as const

// Escapes of GitHub workflow commands, for messages and for properties.
const command = (text: string) =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const property = (text: string) => command(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
