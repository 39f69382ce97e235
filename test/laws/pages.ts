/** Laws of pages: what README files list exists, and decisions are short. */
import { type Breach, lineAt, type SourceFile } from './imports.ts'
import { PUBLIC } from './layers.ts'

/** Entries that no row names. */
const UNLISTED: Readonly<Record<string, true>> = { 'README.md': true, 'shipped.json': true }

/** The tables of plugins/README.md and engine/README.md name what exists, and no more; so does the
 *  list of the files that plugins may import. */
export const readmeBreaches = (files: readonly SourceFile[]): Breach[] =>
  ['engine', 'plugins'].flatMap(folder => {
    const readme = files.find(({ path }) => path === `${folder}/README.md`)
    return readme ? [...rowBreaches(readme, folder, files), ...importableBreaches(readme)] : []
  })

const rowBreaches = (readme: SourceFile, folder: string, files: readonly SourceFile[]) => {
  const entries = new Set(
    files.flatMap(({ path }) => {
      const [top, name = '', ...rest] = path.split('/')
      if (top !== folder || UNLISTED[name]) return []
      return [rest.length > 0 ? `${name}/` : name]
    }),
  )
  const rows = readme.text.split('\n').flatMap((text, index) => {
    const [, first = ''] = /^\| (`[^|]*) \|/.exec(text) ?? []
    return [...first.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({ name, line: index + 1 }))
  })
  const named = new Set(rows.map(({ name }) => name))
  return [
    ...[...entries]
      .filter(name => !named.has(name))
      .map(name => ({ path: readme.path, line: 1, message: `no row names ${name}` })),
    ...rows
      .filter(({ name }) => !entries.has(name))
      .map(({ name, line }) => ({ path: readme.path, line, message: `${name} does not exist` })),
  ]
}

/** The line of the rules that lists the files of the engine that plugins may import. */
const IMPORTABLE = /^- Of the engine, plugins import only (.*)\.$/m
const importableBreaches = (readme: SourceFile): Breach[] => {
  if (readme.path !== 'engine/README.md') return []
  const [, list = ''] = IMPORTABLE.exec(readme.text) ?? []
  const named = [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => `engine/${name}`)
  const allowed = PUBLIC.filter(path => path.startsWith('engine/'))
  const differing = [
    ...allowed.filter(path => !named.includes(path)).map(path => `does not list ${path}`),
    ...named.filter(path => !allowed.includes(path)).map(path => `lists ${path}`),
  ]
  return differing.map(text => ({
    path: readme.path,
    line: 1,
    message: `the rule on imports of plugins ${text}; test/laws/layers.ts decides`,
  }))
}

const LINES = 12
const WORDS = 25

/** Decisions in docs/decisions/ stay short: lines of one decision, words of one sentence. Lines of
 *  tables do not count. Names and files of the code that they mention exist. */
export const decisionBreaches = (files: readonly SourceFile[]): Breach[] => {
  const pages = files.filter(({ path }) => /^docs\/decisions\/.*\.md$/.test(path))
  const code = files.filter(({ path }) => /\.(?:tsx?|[cm]js)$/.test(path))
  const paths = new Set(code.map(({ path }) => path))
  const words = new Set(code.flatMap(({ text }) => text.match(/\w+/g) ?? []))
  return pages.flatMap(file => [
    ...decisionsOf(file).flatMap(each => decisionBreach(file.path, each)),
    ...[...file.text.matchAll(MENTION)].flatMap(({ 1: path, 2: name = '', index }) => {
      const exists = path === undefined ? words.has(name) || OTHERS.has(name) : paths.has(path)
      const message = `${path ?? name} does not exist in the code`
      return exists ? [] : [{ path: file.path, line: lineAt(file.text, index), message }]
    }),
  ])
}
/** A file of the code, or a name in camelCase. */
const MENTION =
  /`(?:((?:engine|plugins|program|test)\/[\w./-]+\.(?:tsx?|[cm]js))|([a-z]+[A-Z]\w*))`/g
/** Names in other programs. */
const OTHERS: ReadonlySet<string> = new Set(['applyAdditionalProperties'])

interface Decision {
  readonly title: string
  readonly line: number
  readonly body: readonly string[]
}
const decisionsOf = ({ text }: SourceFile): readonly Decision[] => {
  const decisions: { title: string; line: number; body: string[] }[] = []
  for (const [index, line] of text.split('\n').entries())
    if (line.startsWith('## ')) decisions.push({ title: line.slice(3), line: index + 1, body: [] })
    else if (!line.startsWith('|')) decisions.at(-1)?.body.push(line)
  return decisions
}

const decisionBreach = (path: string, { title, line, body }: Decision): Breach[] => {
  const lines = body.filter(each => each.trim() !== '').length
  const sentences = body
    .join('\n')
    .split(/\n\s*\n/)
    .flatMap(paragraph => paragraph.replaceAll('\n', ' ').split(/(?<=[.!?]) (?=[A-Z0-9`"(])/))
  return [
    ...(lines <= LINES
      ? []
      : [{ path, line, message: `"${title}": ${lines} lines, not ${LINES}` }]),
    ...sentences
      .filter(sentence => wordsIn(sentence) > WORDS)
      .map(sentence => ({
        path,
        line,
        message: `${wordsIn(sentence)} words, not ${WORDS}: "${sentence.trim().slice(0, 60)}…"`,
      })),
  ]
}

/** Code is one word; what is in parentheses and numbers do not count. */
const wordsIn = (sentence: string): number =>
  sentence
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\([^()]*\)/g, '')
    .split(/\s+/)
    .filter(word => /[A-Za-z]/.test(word)).length
