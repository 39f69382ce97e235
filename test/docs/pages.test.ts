/** docs/cli.md is the help of the program. Commands on pages exist with their options. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { blocksOf, ELSEWHERE, pageOf } from './blocks.ts'
import { cliPage } from './cli-page.ts'
import { configurationPage, shippedSchema } from './configuration-page.ts'
import { operationForms } from './tables/operation-forms.ts'

const cwd = fileURLToPath(new URL('../..', import.meta.url))
// docs/cli.md is generated, and decisions are about what was.
const PAGES = globSync(['README.md', 'docs/**/*.md', 'examples/**/README.md'], {
  cwd,
  exclude: ['docs/cli.md', 'docs/decisions/*.md'],
})
/** A command that a plugin on a page adds. */
const ADDED = /^tollgate addresses /

/** The help of each command, by `NAME` or `NAME SUBCOMMAND`. */
const helpPages = new Map(
  pageOf('docs/cli.md')
    .split(/^##+ /m)
    .slice(1)
    .map(section => [section.split('\n')[0] ?? '', section]),
)

const shellOf = (page: string): string =>
  blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text)
    .join('')

/** The fault of `tollgate NAME SUBCOMMAND --option …`; undefined if it has none. */
const problemOf = (line: string): string | undefined => {
  const [, name = '', second = '', ...rest] = line.split(/\s+/)
  const help = helpPages.get(`${name} ${second}`) ?? helpPages.get(name)
  if (help === undefined) return `no command: ${line}`
  const isGroup = [...helpPages.keys()].some(key => key.startsWith(`${name} `))
  const isWord = /^[a-z]+$/.test(second)
  if (isGroup && isWord && !helpPages.has(`${name} ${second}`)) return `no subcommand: ${line}`
  const options = [second, ...rest].filter(word => word.startsWith('--'))
  const missing = options.find(option => !help.includes(option))
  return missing && `${name} has no ${missing}: ${line}`
}

t.test('docs/cli.md: is the help of the program', async t => {
  t.equal(
    pageOf('docs/cli.md'),
    await cliPage({ TOLLGATE_DATA: usedFolder(`${t.testdir({})}/data`) }),
    'npm run docs writes the page',
  )
})

t.test('docs/configuration.md: is made from the schemas', async t => {
  const schema = shippedSchema()
  t.equal(
    pageOf('docs/configuration.md'),
    configurationPage(schema),
    'npm run docs writes the page',
  )
  const changed = {
    ...schema,
    properties: { ...schema.properties, added: { description: 'New.' } },
  }
  t.match(configurationPage(changed), /## added\n\nNew\./)
})

t.test('operation-forms.json: is made from the table of operations', async t => {
  const forms = operationForms()
  t.equal(pageOf('plugins/console/client/operation-forms.json'), forms, 'npm run docs writes it')
  t.match(JSON.parse(forms), {
    'codes create':
      'POST /api/admin/codes amount=text plan=text lasts=text count=number expires?=text note=text',
    'revoke-session': 'DELETE /api/sessions/{id}',
  })
})

t.test('docs/operate.md: has a row for every fault of the store', async t => {
  const codes = pageOf('engine/store/faults.ts').match(/^ {2}STORE_\w+/gm) ?? []
  const rows = pageOf('docs/operate.md').match(/^\| `STORE_.*$/gm) ?? []
  const documentedCodes = rows.flatMap(row => row.split('|')[1]?.match(/STORE_\w+/g) ?? [])
  t.ok(codes.length > 10)
  t.same(documentedCodes.toSorted(), codes.map(code => code.trim()).toSorted())
})

t.test('pages: commands that are skipped here run in CI or in another test', async t => {
  const { scripts } = JSON.parse(pageOf('package.json'))
  for (const [command, file] of Object.entries(ELSEWHERE)) {
    const script = scripts[command.replace('npm run ', '')]?.split('/').at(-1)
    const text = pageOf(file)
    t.ok(text.includes(command) || text.includes(script), `${command} in ${file}`)
  }
})

t.test('pages: every command and its options exist', async t => {
  let count = 0
  for (const page of PAGES) {
    const inText = [...pageOf(page).matchAll(/`(?:npx --no-install )?(tollgate [a-z][^`]*)`/g)]
    const inBlocks = shellOf(page).matchAll(/^(?:npx --no-install )?(tollgate [a-z].*)$/gm)
    const lines = [...inText, ...inBlocks].map(([, line = '']) => line)
    for (const line of lines.filter(each => !ADDED.test(each))) {
      count++
      // `tollgate keys show | update` names two.
      const [first = '', ...others] = line.split(/ \| (?=[a-z]+(?: |$))/)
      const group = first.split(' ').slice(0, 2).join(' ')
      for (const command of [first, ...others.map(each => `${group} ${each}`)])
        t.equal(problemOf(command), undefined, `${page}: ${command}`)
    }
  }
  t.ok(count > 100, `${count} commands`)
  t.match(problemOf('tollgate keys shw 7'), /no subcommand/)
  t.match(problemOf('tollgate check --formt github'), /no --formt/)
  t.match(problemOf('tollgate chek'), /no command/)
})
