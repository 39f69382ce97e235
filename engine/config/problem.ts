/** Problems: faults of a configuration, each with its place; collected, sorted and made readable once. */
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { format as fill, styleText } from 'node:util'

export interface Place {
  /** As `shownPath` gives it. */
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
  /** The folder that `file` is relative to. With it, paths are shown relative to the current folder. */
  readonly root?: string
  readonly color?: boolean
  /** How many are shown; the rest are counted. */
  readonly limit?: number
}

/** A path as an operator would name it: relative to `root`, absolute when outside of it. */
export const shownPath = (root: string, path: string): string => {
  const inside = relative(root, path)
  return /^\.\.([/\\]|$)/.test(inside) || isAbsolute(inside) ? path : inside.replaceAll(sep, '/')
}

/** Makes the constructor of one owner's problems, from a table `CODE: 'message with %s'`. */
export const problems =
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

/** Every problem of one load. Its message is the whole pretty text, so that any log of it teaches. */
export class ProblemsError extends Error {
  readonly problems: readonly Problem[]
  readonly texts: Texts
  readonly root: string | undefined
  /** Folders in which a repair would show: what to watch while the last good version serves. */
  readonly watched: readonly string[]

  constructor(
    found: readonly Problem[],
    texts: Texts = new Map(),
    root?: string,
    watched: readonly string[] = [],
  ) {
    super(format(found, texts, 'pretty', root === undefined ? {} : { root }))
    this.name = 'ProblemsError'
    this.problems = sorted(found)
    this.texts = texts
    this.root = root
    this.watched = watched
  }
}

/** By file, line and column; what is said twice about one place is said once. */
export const sorted = (found: readonly Problem[]): readonly Problem[] => {
  const once = new Map(
    found.map(p => [`${p.file}:${p.line}:${p.column}:${p.code}:${p.message}`, p]),
  )
  return [...once.values()].sort(
    (a, b) =>
      (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column,
  )
}

/** All of `found` as text for a person, a program or a pull request. */
export const format = (
  found: readonly Problem[],
  texts: Texts,
  how: Format,
  options: FormatOptions = {},
): string => {
  const all = sorted(found)
  const shown = all.slice(0, options.limit ?? 20)
  return FORMATS[how](shown, all.length, texts, options)
}

const FORMATS: Readonly<
  Record<
    Format,
    (shown: readonly Problem[], total: number, texts: Texts, o: FormatOptions) => string
  >
> = {
  pretty: (shown, total, texts, options) => {
    const blocks = shown.map(problem => pretty(problem, texts.get(problem.file), options))
    const rest = total - shown.length
    if (rest > 0) blocks.push(`and ${rest} more ${rest === 1 ? 'problem' : 'problems'}`)
    return blocks.join('\n\n')
  },
  json: (shown, total, _texts, options) => {
    const found = shown.map(problem => ({ ...problem, file: shownFile(problem.file, options) }))
    return JSON.stringify({ problems: found, total }, null, 2)
  },
  github: (shown, total, _texts, options) => {
    const lines = shown.map(problem => annotation(problem, options))
    const rest = total - shown.length
    if (rest > 0) lines.push(`::notice::and ${rest} more`)
    return lines.join('\n')
  },
}

const shownFile = (file: string, { root }: FormatOptions) =>
  root === undefined ? file : shownPath(resolve(), resolve(root, file))

const sentence = ({ message, suggestion }: Problem) =>
  suggestion === undefined ? message : `${message}; did you mean "${suggestion}"?`

const pretty = (problem: Problem, text: string | undefined, options: FormatOptions) => {
  const paint = (style: Parameters<typeof styleText>[0], words: string) =>
    options.color ? styleText(style, words, { validateStream: false }) : words
  const place = `${shownFile(problem.file, options)}:${problem.line}:${problem.column}`
  const head = `${paint('bold', place)}  ${paint('red', problem.code)}  ${printable(sentence(problem))}`
  const lines = text === undefined ? [] : frame(problem, text)
  return [
    head,
    ...lines.map((line, index) => paint(index === lines.length - 1 ? 'red' : 'dim', line)),
  ].join('\n')
}

/** How much of a long line stands on either side of the caret. */
const AROUND = 60

/** The line before, the line itself and the caret. */
const frame = (problem: Problem, text: string): string[] => {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  const line = lines[problem.line - 1]
  if (line === undefined) return []
  const width = String(problem.line).length
  const from = Math.max(0, problem.column - 1 - AROUND)
  const to = problem.column - 1 + AROUND
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

/** Glyphs that fill two cells of a terminal push the caret two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Emoji_Presentation}/u
const blank = (glyph: string) => (WIDE.test(glyph) ? '  ' : ' ')

/** A tab counts as one cell, so that the caret stays true; other controls could drive the terminal. */
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

// What a GitHub workflow command demands of a message, and further of a property.
const command = (text: string) =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const property = (text: string) => command(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
