/** docs/webhooks.md: its commands run in a fresh clone; its schedule is current. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DELAYS } from '../../plugins/webhooks/schedule.ts'
import { freePort } from '../helpers/free-port.ts'
import { LONG } from '../helpers/run-settings.ts'
import { blocksOf, pageOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/webhooks.md'
const START = /^EGRESS_ALLOW=\S+ NODE_EXTRA_CA_CERTS=\S+ npm start$/m

t.test(
  'docs/webhooks.md: its commands run with its receiver in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const port = String(await freePort())
    const here = (text: string) => text.replaceAll('9443', port)
    const copy = await clone(t)
    for (const { file, text } of blocksOf(PAGE).filter(({ file }) => file !== ''))
      writeFileSync(join(copy.folder, file), here(text))
    const session = here(sessionOf(PAGE))
    const [before = '', after = ''] = session.split(START)
    await copy.shell(before)
    const assignments = START.exec(session)?.[0].split(' ').slice(0, 2) ?? []
    await copy.start(Object.fromEntries(assignments.map(each => each.split('='))))
    const out = await copy.shell(after)
    t.match(
      out,
      /"success":false,"message":"169\.254\.169\.254 is not a public address; an operator can allow it: settings\.egress_allow\."/,
    )
    t.match(out, /"success":true,"message":"Delivered\."/)
    t.match(out, /"threshold":"5","secret":"whsec_….{4}"/)
    t.match(out, /^genuine \{"topic":"user_quota_too_low","data":\{"quota":\d+\}\}$/m)
    t.notMatch(out, /forged/)
    t.match(out, /account +receiver +state[\s\S]*delivered/)
  },
)

t.test('docs/webhooks.md: lists the retry delays', async t => {
  const words = DELAYS.map(ms =>
    ms < 60_000 ? `${ms / 1_000} s` : ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`,
  )
  const text = pageOf(PAGE).replaceAll('\n', ' ')
  t.match(text, `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`)
})
