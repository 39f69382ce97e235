/** docs/cli.md is the program's own help, and what pages leave to run elsewhere does run there. */
import t from 'tap'
import { ELSEWHERE, pageOf } from './blocks.ts'
import { cliPage } from './cli-page.ts'

t.test('docs/cli.md', async t => {
  t.equal(pageOf('docs/cli.md'), await cliPage(), 'npm run docs writes it')
})

t.test('commands that run elsewhere', async t => {
  const { scripts } = JSON.parse(pageOf('package.json'))
  for (const [command, place] of Object.entries(ELSEWHERE)) {
    const script = scripts[command.replace('npm run ', '')]?.split('/').at(-1)
    const text = pageOf(place)
    t.ok(text.includes(command) || text.includes(script), `${command} in ${place}`)
  }
})
