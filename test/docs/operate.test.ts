/** Every command of docs/operate.md runs, in its order, in a fresh clone; its table of variables is the shipped one. */
import t from 'tap'
import { LONG } from '../helpers/long.ts'
import { pageOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/operate.md'

t.test('its commands', { skip: !LONG && 'CI and the long form run them' }, async t => {
  const place = await clone(t)
  await place.start()
  const out = await place.shell(sessionOf(PAGE))
  t.match(out, /"name": "laptop"[\s\S]*no problems[\s\S]*back to #1/)
  t.match(out, /POST +\/v1\/chat\/completions/)
  t.match(out, /"status":"ok"[\s\S]*"ready":true[\s\S]*"version":\d[\s\S]*tollgate_workers/)
})

t.test('its variables', async t => {
  const page = pageOf(PAGE)
  const named = pageOf('routes.yaml').matchAll(/\$\{([A-Z_]+)/g)
  for (const name of new Set([...named].map(([, name = '']) => name))) {
    const family = name.replace(/(BASE_URL|API_KEY)$/, '')
    t.ok(page.includes(`\`${name}\``) || page.includes(`\`${family}\``), name)
  }
})
