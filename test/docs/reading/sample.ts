/** Prints a seeded sample of the project to be read critically: ten files, thirty comments, thirty
 *  sentences of docs and every text of the console. `node test/docs/reading/sample.ts --seed 1` */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createChance } from '../../helpers/run-settings.ts'
import { lineAt, type SourceFile } from '../../laws/imports.ts'
import { sourceFiles } from '../../laws/laws.ts'
import { syntaxOf } from '../../laws/syntax.ts'

const FILES = 10
const TEXTS = 30
const CONSOLE = 'plugins/console/client/texts.ts'
const CODE = /^(?:engine|examples|plugins|program|test)\/.*\.(?:tsx?|[cm]js)$/

/** Draws `count` of the values, each at most once; the same for the same seed. */
const draw = <Value>(values: readonly Value[], count: number, seed: number): readonly Value[] => {
  const chance = createChance(seed)
  return values
    .map(value => ({ value, order: chance() }))
    .sort((one, other) => one.order - other.order)
    .slice(0, count)
    .map(({ value }) => value)
}

const commentsOf = (file: SourceFile): readonly string[] =>
  syntaxOf(file).comments.map(
    ({ text, offset }) =>
      `${file.path}:${lineAt(file.text, offset)}  ${text.replace(/\s*\n \*\s*/g, ' ')}`,
  )
/** Sentences of the paragraphs of a page: no code, tables, lists of keys or headings. */
const sentencesOf = ({ path, text }: SourceFile): readonly string[] =>
  text
    .replace(/^```.*?^```/gms, '')
    .split(/\n\s*\n/)
    .filter(paragraph => /^(?:- )?[A-Z`]/.test(paragraph))
    .flatMap(paragraph => paragraph.replaceAll('\n', ' ').split(/(?<=[.!?]) (?=[A-Z0-9`])/))
    .map(sentence => `${path}  ${sentence}`)

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' } } })
const seed = Number(values.seed)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const files = sourceFiles(root).toSorted((one, other) => (one.path < other.path ? -1 : 1))
const code = files.filter(({ path }) => CODE.test(path))
const pages = files.filter(({ path }) => path.endsWith('.md'))
const parts: readonly (readonly [title: string, lines: readonly string[]])[] = [
  ['Files', draw(code, FILES, seed).map(({ path }) => path)],
  ['Comments', draw(code.flatMap(commentsOf), TEXTS, seed)],
  ['Sentences', draw(pages.flatMap(sentencesOf), TEXTS, seed)],
  [
    'Texts of the console',
    [
      ...readFileSync(`${root}/${CONSOLE}`, 'utf8').matchAll(
        /^ {2}'?([\w.-]+)'?: \[\s*('.*?'),\s*('.*?'),?\s*\],$/gms,
      ),
    ].map(([, key, english, chinese]) => `${key}  ${english}  ${chinese}`),
  ],
]
for (const [title, lines] of parts) console.log(`## ${title}\n\n${lines.join('\n')}\n`)
