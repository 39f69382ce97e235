/** docs/cli.md is the help of the program; commands that other places run do run there. */
import t from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { ELSEWHERE, pageOf } from './blocks.ts'
import { cliPage } from './cli-page.ts'
import { configurationPage, shippedSchema } from './configuration-page.ts'

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
