/** The commands of the README run, in its order, in a fresh clone; what it shows is what the program says. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LONG } from '../helpers/long.ts'
import { blockOf, blocksOf, pageOf, sessionOf } from './blocks.ts'
import { type Clone, clone, type Voice } from './clone.ts'

/** These cost a start each, and have tests of their own: CI and the long form run them here. */
const DEAR = /^(?:npx tap|tollgate (?:accounts|keys)) /
const session = sessionOf('README.md')
  .split('\n')
  .filter(line => LONG || !DEAR.test(line))
  .join('\n')

t.test('from npm start to a plugin of one’s own', async t => {
  const place = await clone(t)
  const voice = await place.start()
  t.match(voice.text(), /tollgate 0\.1\.0 serves\n[\s\S]*sandbox +gp/)
  const out = await place.shell(session)
  t.match(out, /"object": ?"chat\.completion"/)
  t.match(out, /no problems[\s\S]*target +gp\/gpt-4\.1/)
  t.match(out, /plugins\/stamp\.ts and test\/plugins\/stamp\.test\.ts written/)
  t.match(out, /"ready":true[\s\S]*tollgate_workers[\s\S]*serves #\d/)
  t.equal(readFileSync(join(place.folder, 'plugins/stamp.ts'), 'utf8'), blockOf('README.md', 'ts'))
  await edits(place, voice)
  const shown = blocksOf('README.md').find(({ text }) => text.startsWith('reload #2'))
  for (const words of (shown?.text ?? 'nothing').trim().split('\n\n'))
    t.ok(plain(voice.text()).includes(plain(words)), words)
})
/** Versions and times vary. */
const plain = (text: string): string => text.replace(/#\d+|\d+ ms/g, '…')

/** The edits that the README speaks of, each saved as an editor does. */
const edits = async ({ folder, shell }: Clone, voice: Voice): Promise<void> => {
  const edit = (file: string, from: string, to: string): void => {
    const path = join(folder, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
  }
  edit('models/gp.yaml', 'input: 2.00 USD', 'input: 2.10 USD')
  await voice.until(/reload #\d+: model gp-4\.1 price changed, \d+ ms/)
  edit('routes.yaml', '    errors: openai\n', '    errors: openai\n    retrys: 1\n')
  await voice.until(/UNKNOWN_KEY[\s\S]*still serving/)
  edit('routes.yaml', '    retrys: 1\n', '    stamp: hello\n')
  edit('routes.yaml', '[errors,', '[errors, stamp,')
  await voice.until(/reload #\d+: pipeline changed, route chat stamp changed/)
  const call = /^curl [\s\S]*?\n(?=\n)/m.exec(`${sessionOf('README.md')}\n`)?.[0] ?? ''
  const reply = await shell(call.replace('curl -s', 'curl -si').split('\nalias')[0] ?? '')
  if (!/^x-stamp: hello\r$/m.test(reply)) throw new Error(`no stamp on\n${reply}`)
}

t.test('the yaml is the shipped one', async t => {
  const shipped = pageOf('routes.yaml')
  const sections = blockOf('README.md', 'yaml').split(/^(?=\w)/m)
  t.equal(sections.length, 2)
  for (const section of sections) {
    const [head = '', ...inside] = section.replace('# …\n', '').trimEnd().split('\n')
    t.ok(shipped.includes(`\n${head}\n`), head)
    t.ok(shipped.includes(inside.join('\n')), inside[0] ?? '')
  }
})
