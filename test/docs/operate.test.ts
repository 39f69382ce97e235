/** docs/operate.md: its commands run in a fresh clone; its variables are the shipped ones. */
import t from 'tap'
import { LONG } from '../helpers/run-settings.ts'
import { pageOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/operate.md'

t.test(
  'docs/operate.md: its commands run in order in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    await copy.start()
    const out = await copy.shell(sessionOf(PAGE))
    t.match(out, /"name": "laptop"[\s\S]*no problems[\s\S]*back to #1/)
    t.match(out, /POST +\/v1\/chat\/completions/)
    t.match(out, /"status":"ok"[\s\S]*"ready":true[\s\S]*tollgate_workers[\s\S]*"version": \d/)
  },
)

t.test('docs/operate.md: names every variable of routes.yaml', async t => {
  const page = pageOf(PAGE)
  const variables = pageOf('routes.yaml').matchAll(/\$\{([A-Z_]+)/g)
  for (const name of new Set([...variables].map(([, name = '']) => name))) {
    const family = name.replace(/(BASE_URL|API_KEY)$/, '')
    t.ok(page.includes(`\`${name}\``) || page.includes(`\`${family}\``), name)
  }
})
