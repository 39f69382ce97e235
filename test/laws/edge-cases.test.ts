/** The edge cases of docs/format-edges.md: each has a test whose title ends in its number, and
 *  every number in a title is on the page. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}/${path}`, 'utf8')
const TITLE = /\(edges? (\d+(?:(?:, | and )\d+)*)\)['"`]/gm

/** Numbers of edges in the titles of a file. */
const edgesIn = (path: string): readonly number[] =>
  [...read(path).matchAll(TITLE)].flatMap(([, numbers = '']) =>
    numbers.split(/, | and /).map(Number),
  )
/** Rows of the page: number, input, behaviour, files below test/plugins/. */
const rows = [...read('docs/format-edges.md').matchAll(/^\| (\d+) \|(.*)\|(.*)\|(.*)\|$/gm)].map(
  ([, edge, input = '', behaviour = '', files = '']) => ({
    edge: Number(edge),
    texts: [input.trim(), behaviour.trim()],
    files: [...files.matchAll(/`([^`]+)`/g)].map(([, file]) => `test/plugins/${file}`),
  }),
)

t.test('format edges: the page numbers and describes each case once', async t => {
  t.same(
    rows.map(({ edge }) => edge),
    Array.from({ length: rows.length }, (_, index) => index + 1),
  )
  t.ok(rows.length >= 33)
  for (const { edge, texts } of rows) t.ok(texts.every(Boolean), `edge ${edge}`)
})

t.test('format edges: each listed file has a test of its case', async t => {
  for (const { edge, files } of rows) {
    t.ok(files.length > 0, `edge ${edge}`)
    for (const file of files)
      t.ok(existsSync(`${root}/${file}`) && edgesIn(file).includes(edge), `edge ${edge}: ${file}`)
  }
})

t.test('format edges: every number in a title is on the page', async t => {
  const known = new Set(rows.map(({ edge }) => edge))
  for (const path of globSync('test/{plugins,journeys,helpers}/**/*.ts', { cwd: root }))
    for (const edge of edgesIn(path)) t.ok(known.has(edge), `edge ${edge}: ${path}`)
})
