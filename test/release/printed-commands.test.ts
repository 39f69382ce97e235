/** Commands that the installed package prints: what a person pastes runs this program, in the
 *  folder of the installation and in any other. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { installPackage } from './installed-package.ts'

const { folder, run } = installPackage(t)
/** A shell of a person: npm's folders of programs are not on its PATH. */
const shell = (line: string) => run(`PATH=\${PATH#*/node_modules/.bin:}; ${line}`)
const SCRIPT = join(folder, 'node_modules/tollgate/engine/bin.cjs')
const elsewhere = join(folder, '..', `${folder.split('/').at(-1)}-elsewhere`)

/** The lines of a text that name a command of the program. */
const commandsIn = (text: string): string[] =>
  text.split('\n').filter(line => /\b(?:npx|node|tollgate)\b.* (?:check|start)\b/.test(line))

t.test('printed commands: in the folder of the installation they are of npx there', async t => {
  const { text } = shell('npx --no-install tollgate init')
  const [check = '', start = ''] = commandsIn(text)
  t.equal(check, 'npx --no-install tollgate check')
  t.match(start, /^npx --no-install tollgate start /)
  t.match(shell(check), { status: 0, text: /no problems/ })
  t.match(shell('npx --no-install tollgate status'), {
    status: 3,
    text: /start (?:one|a gateway): npx --no-install tollgate start/,
  })
  const created = shell('npx --no-install tollgate plugin new stamp').text
  t.match(created, /Run its test: +node --test test\/plugins\/stamp\.test\.ts/)
})

t.test('printed commands: in another folder they name the file, and run when pasted', async t => {
  mkdirSync(elsewhere)
  t.teardown(() => run(`rm -r ${elsewhere}`))
  const { text } = shell(`cd ${elsewhere} && node ${SCRIPT} init -c sub/routes.yaml`)
  t.notMatch(text, /\bnpx\b|^tollgate/m)
  const [check = ''] = commandsIn(text)
  t.equal(check, `node ${SCRIPT} check`)
  t.match(shell(`cd ${elsewhere}/sub && ${check}`), { status: 0, text: /no problems/ })
  for (const [words, pattern] of [
    ['status', /start (?:one|a gateway): node \S+bin\.cjs start/],
    ['keys', /Usage: node \S+bin\.cjs keys /],
    ['chek', /did you mean "check"/],
    ['accounts list', /run `node \S+bin\.cjs start` once/],
    ['--help', /node \S+bin\.cjs COMMAND --help explains/],
    ['check --help', /\$ node \S+bin\.cjs check/],
  ] as const) {
    const { text } = shell(`cd ${elsewhere}/sub && node ${SCRIPT} ${words} || true`)
    t.match(text, pattern, words)
    t.notMatch(text, /(?:^|[\s`])tollgate [a-z]/m, words)
  }
})
