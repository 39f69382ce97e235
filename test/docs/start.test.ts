/** docs/start.md: its files and commands work in order in a fresh clone. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../helpers/free-port.ts'
import { LONG } from '../helpers/run-settings.ts'
import { blocksOf, ELSEWHERE } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/start.md'

t.test(
  'docs/start.md: leads from a clone to a request, a key, a model, a plugin and a callback',
  { skip: !LONG && 'CI and the long form run it' },
  async t => {
    const port = `${await freePort()}`
    const here = (text: string): string => text.replaceAll('8443', port)
    const copy = await clone(t)
    const receiver = join(copy.folder, 'examples/video-task/receiver.mjs')
    writeFileSync(receiver, here(readFileSync(receiver, 'utf8')))
    const output = await copy.start()
    await output.until(/of demo money/)
    // A block that is a file is saved between the commands around it.
    const script = blocksOf(PAGE).map(({ language, file, text }) =>
      language === 'sh' ? here(text) : `cat > ${file} <<'END'\n${text}END\n`,
    )
    const lines = script
      .join('')
      .split('\n')
      .filter(line => !(line in ELSEWHERE) && line !== 'npm start')
    const out = await copy.shell(lines.join('\n'))
    t.match(out, /"object": ?"chat\.completion"/)
    t.match(out, /no problems/)
    t.match(out, /"model": ?"assistant"/)
    t.match(out, /ann[\s\S]*assistant/)
    t.match(out, '{"greeting":"Hello world"}')
    t.match(out, /genuine \S+ success/)
    t.match(output.text(), /reload #2: 1 model added/)
  },
)
