/** README.md: its commands run in order in a fresh clone, and print what it shows. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LONG } from '../helpers/run-settings.ts'
import { blockOf, blocksOf, pageOf, sessionOf } from './blocks.ts'
import { type Clone, clone, type ProcessOutput } from './clone.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Commands that start a process each and have their own tests: only long runs include them. */
const SLOW_COMMANDS = /^(?:npx --no-install tap|tollgate (?:accounts|keys)) /
const session = sessionOf('README.md')
  .split('\n')
  .filter(line => LONG || !SLOW_COMMANDS.test(line))
  .join('\n')

t.test('README.md: its session runs from npm start to a new plugin', async t => {
  const copy = await clone(t)
  const output = await copy.start()
  t.match(output.text(), /tollgate 0\.1\.0 serves\n[\s\S]*sandbox +gp/)
  const out = await copy.shell(session)
  t.match(out, /"object": ?"chat\.completion"/)
  t.match(out, /no problems[\s\S]*target +gp\/gpt-4\.1/)
  t.match(out, /plugins\/stamp\.ts and test\/plugins\/stamp\.test\.ts written/)
  t.match(out, /"ready":true[\s\S]*tollgate_workers[\s\S]*serves #\d/)
  t.equal(readFileSync(join(copy.folder, 'plugins/stamp.ts'), 'utf8'), blockOf('README.md', 'ts'))
  await applyEdits(copy, output)
  const reloadBlock = blocksOf('README.md').find(({ text }) => text.startsWith('reload #2'))
  for (const words of (reloadBlock?.text ?? 'nothing').trim().split(/…?\n\n/))
    t.ok(normalize(output.text()).includes(normalize(words)), words)
})
/** Removes versions and times, which vary. */
const normalize = (text: string): string => text.replace(/#\d+|\d+ ms/g, '…')

/** Applies the edits of the README, each saved as an editor does. */
const applyEdits = async ({ folder, shell }: Clone, output: ProcessOutput): Promise<void> => {
  const edit = (file: string, from: string, to: string): void => {
    const path = join(folder, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
  }
  edit('models/gp.yaml', 'default: 2.00 USD', 'default: 2.10 USD')
  await output.until(/reload #\d+: model gp-4\.1 price changed, \d+ ms/)
  edit('routes.yaml', '    errors: openai\n', '    errors: openai\n    retrys: 1\n')
  await output.until(/UNKNOWN_KEY[\s\S]*still serving/)
  edit('routes.yaml', '    retrys: 1\n', '    stamp: hello\n')
  edit('routes.yaml', '[errors,', '[errors, stamp,')
  await output.until(/reload #\d+: pipeline changed, route chat stamp changed/)
  const call = /^curl [\s\S]*?\n(?=\n)/m.exec(`${sessionOf('README.md')}\n`)?.[0] ?? ''
  const reply = await shell(call.replace('curl -s', 'curl -si').split('\nalias')[0] ?? '')
  if (!/^x-stamp: hello\r$/m.test(reply)) throw new Error(`no stamp on\n${reply}`)
}

t.test('README.md: shows each entry of the top level, at most 16', async t => {
  const lines = pageOf('.gitignore').split('\n')
  const ignored = new Set(lines.map(line => line.replace(/^\/|\/$/g, '')))
  const entries = readdirSync(ROOT).filter(name => !name.startsWith('.') && !ignored.has(name))
  const picture =
    blocksOf('README.md').find(({ text }) => text.startsWith('routes.yaml'))?.text ?? ''
  t.ok(entries.length <= 16, entries.join(' '))
  t.same(picture.match(/^[\w.]+|(?<=, )[\w.-]+\.(?:json|md)|LICENSE/gm)?.sort(), entries.sort())
})

t.test('README.md: its YAML is part of the shipped routes.yaml', async t => {
  const shippedConfig = pageOf('routes.yaml')
  const sections = blockOf('README.md', 'yaml').split(/^(?=\w)/m)
  t.equal(sections.length, 2)
  for (const section of sections) {
    const [head = '', ...inside] = section.replace('# …\n', '').trimEnd().split('\n')
    t.ok(shippedConfig.includes(`\n${head}\n`), head)
    t.ok(shippedConfig.includes(inside.join('\n')), inside[0] ?? '')
  }
})
