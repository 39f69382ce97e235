/** docs/cli.md is the program's own help, and what pages leave to run elsewhere does run there. */
import t from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { ELSEWHERE, pageOf } from './blocks.ts'
import { cliPage } from './cli-page.ts'

t.test('docs/cli.md', async t => {
  t.equal(
    pageOf('docs/cli.md'),
    await cliPage({ TOLLGATE_DATA: usedFolder(`${t.testdir({})}/data`) }),
    'npm run docs writes it',
  )
})

t.test('every word of the store has its way out', async t => {
  const known = pageOf('engine/store/faults.ts').match(/^ {2}STORE_\w+/gm) ?? []
  const rows = pageOf('docs/operate.md').match(/^\| `STORE_.*$/gm) ?? []
  const told = rows.flatMap(row => row.split('|')[1]?.match(/STORE_\w+/g) ?? [])
  t.ok(known.length > 10)
  t.same(told.toSorted(), known.map(code => code.trim()).toSorted())
})

t.test('commands that run elsewhere', async t => {
  const { scripts } = JSON.parse(pageOf('package.json'))
  for (const [command, place] of Object.entries(ELSEWHERE)) {
    const script = scripts[command.replace('npm run ', '')]?.split('/').at(-1)
    const text = pageOf(place)
    t.ok(text.includes(command) || text.includes(script), `${command} in ${place}`)
  }
})
