/** The words before the commands that the program prints: they run this program, wherever a person
 *  pastes them. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { asStarted, programIn } from '../../../../engine/cli/program/program-name.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')
const SCRIPT = join(ROOT, 'engine/bin.cjs')

/** Links `tollgate` in a folder to a script; returns the folder. */
const linked = (folder: string, script = SCRIPT): string => {
  mkdirSync(folder, { recursive: true })
  symlinkSync(script, join(folder, 'tollgate'))
  return folder
}
t.test('program name: in a clone it is the path of the script', async t => {
  t.equal(programIn(ROOT, {}), 'node engine/bin.cjs')
  t.equal(programIn(join(ROOT, 'engine'), {}), 'node bin.cjs')
  t.equal(programIn(t.testdir(), {}), `node ${SCRIPT}`)
})

t.test('program name: tollgate where PATH leads to this program, outside of npm', async t => {
  const folder = t.testdir({ 'bin.cjs': '' })
  const bin = linked(join(folder, 'bin'))
  const other = linked(join(folder, 'other'), join(folder, 'bin.cjs'))
  const ofNpm = linked(join(folder, 'far/node_modules/.bin'))
  t.equal(programIn(folder, { PATH: `/nowhere:${bin}` }), 'tollgate')
  t.equal(programIn(folder, { PATH: `${other}:${bin}` }), `node ${SCRIPT}`, 'another program')
  t.equal(programIn(folder, { PATH: ofNpm }), `node ${SCRIPT}`, 'as npx sets it')
})

t.test('program name: npx --no-install in the folder of an installation and below', async t => {
  const folder = t.testdir({ 'package.json': '{}', below: {}, project: { 'package.json': '{}' } })
  linked(join(folder, 'node_modules/.bin'))
  t.equal(programIn(folder, {}), 'npx --no-install tollgate')
  t.equal(programIn(join(folder, 'below'), {}), 'npx --no-install tollgate')
  t.equal(programIn(join(folder, 'project'), {}), `node ${SCRIPT}`, 'npm looks no further')
})

t.test('program name: another package of the name is not run', async t => {
  const folder = t.testdir({ 'package.json': '{}', 'bin.cjs': '' })
  linked(join(folder, 'node_modules/.bin'), join(folder, 'bin.cjs'))
  t.equal(programIn(folder, {}), `node ${SCRIPT}`)
})

t.test('program name: replaces commands in messages, and nothing else', async t => {
  const program = (): string => 'node engine/bin.cjs'
  for (const [text, expected] of [
    [
      'Add credit: tollgate accounts credit admin 100',
      'Add credit: node engine/bin.cjs accounts credit admin 100',
    ],
    [
      'run `tollgate start` once, or `tollgate check`',
      'run `node engine/bin.cjs start` once, or `node engine/bin.cjs check`',
    ],
    ['tollgate COMMAND --help', 'node engine/bin.cjs COMMAND --help'],
  ] as const)
    t.equal(asStarted(text, program), expected)
  for (const text of [
    'tollgate 0.1.0 serves',
    'database "tollgate" is missing',
    '/srv/tollgate data',
    'npx --no-install tollgate start',
    '  67 | # made by tollgate init',
  ])
    t.equal(asStarted(text, program), text)
})
