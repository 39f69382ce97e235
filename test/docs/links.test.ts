/** Every link of every page leads to a file and a heading, and the index lists every page. */
import { existsSync, globSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { pageOf } from './blocks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PATTERNS = ['*.md', 'docs/**/*.md', 'examples/**/*.md', '{engine,plugins,test}/README.md']
const PAGES = globSync(PATTERNS, { cwd: root })

/** Targets of the links of a page: a path relative to the project, and an anchor or ''. */
const linksOf = (page: string) =>
  [...pageOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^\w+:/.test(link)) return []
    const [path = '', anchor = ''] = link.split('#')
    return [{ link, path: path === '' ? page : join(dirname(page), path), anchor }]
  })

/** Anchors of the headings of a page, as web views of repositories make them. */
const anchorsOf = (page: string): ReadonlySet<string> => {
  const headings = [...pageOf(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => text)
  const words = headings.map(text => text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, ''))
  return new Set(words.map(text => text.replaceAll(' ', '-')))
}

t.test('pages: every link leads to a file and a heading', async t => {
  t.ok(PAGES.length > 30)
  const broken = PAGES.flatMap(page =>
    linksOf(page)
      .filter(({ path, anchor }) => {
        if (!existsSync(join(root, path))) return true
        return anchor !== '' && path.endsWith('.md') && !anchorsOf(path).has(anchor)
      })
      .map(({ link }) => `${page}: ${link}`),
  )
  t.same(broken, [])
})

t.test('docs/README.md: lists every page', async t => {
  const listed = new Set(linksOf('docs/README.md').map(({ path }) => path))
  const pages = PAGES.filter(page => page.startsWith('docs/') && page !== 'docs/README.md')
  const missing = pages.filter(page => !listed.has(page))
  t.same(missing, [], `add a link to ${missing.map(page => relative('docs', page))}`)
})

t.test('docs/security.md: each test that it names exists', async t => {
  const tests = pageOf('docs/security.md').match(/(?<=`)test\/[^`]+(?=`)/g) ?? []
  t.ok(tests.length > 10)
  t.same(
    tests.filter(test => !existsSync(join(root, test))),
    [],
  )
})
