/** Every command of docs/accounts.md runs, in its order, in a fresh clone; what it says of views and routes is what is shipped. */
import t from 'tap'
import account from '../../plugins/account/index.ts'
import { LONG } from '../helpers/long.ts'
import { pageOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/accounts.md'

t.test('its commands', { skip: !LONG && 'CI and the long form run them' }, async t => {
  const place = await clone(t)
  const voice = await place.start()
  await voice.until(/has 100 CNY of demo money/)
  const out = await place.shell(sessionOf(PAGE))
  t.match(
    out,
    /ann +12\.5 +0 +0\n[\s\S]*ann +10 +0 +2\n[\s\S]*ann +suspended\n[\s\S]*ann +active\nnone\n/,
  )
  t.match(out, /"username":"admin"[\s\S]*"balance":100,[\s\S]*"total_quota":50000000,/)
  t.match(out, /"model":"gp-4\.1"[\s\S]*"formula":"[\d,]+ input x 14\.40\/1M \+ [\d,]+ output/)
  t.match(out, /refunded +id +name[\s\S]*admin +100 +0 +0\n/)
  t.match(out, /"key":"sk-\w{49}"[\s\S]*"quota":1000000,[\s\S]*"state":"revoked"/)
})

t.test('its paths are the shipped ones', async t => {
  const shipped = [
    ...pageOf('routes.yaml').matchAll(/path: '?(?:GET|POST|PATCH|DELETE) ([^',\s]+)/g),
  ]
  const paths = new Set(shipped.map(([, path = '']) => path))
  const named = [...pageOf(PAGE).matchAll(/`(?:(?:GET|POST|PATCH|DELETE) )(\/[^`?]+)/g)]
  t.ok(named.length >= 10)
  for (const [, path = ''] of named) t.ok(paths.has(path), path)
})

t.test('every view has a route', async t => {
  const routes = pageOf('routes.yaml')
  for (const view of account.schema.enum)
    t.match(routes, new RegExp(`account: ${view}(?![\\w-])`), view)
})
