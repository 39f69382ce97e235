/** docs/accounts.md: its commands run in a fresh clone; its paths and views are shipped. */
import t from 'tap'
import account from '../../plugins/account/index.ts'
import { LONG } from '../helpers/run-settings.ts'
import { pageOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/accounts.md'

t.test(
  'docs/accounts.md: its commands run in order in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    const output = await copy.start()
    await output.until(/has 100 CNY of demo money/)
    const out = await copy.shell(sessionOf(PAGE))
    t.match(
      out,
      /ann +12\.5 +0 +0\n[\s\S]*ann +10 +0 +2\n[\s\S]*ann +suspended\n[\s\S]*ann +active\n[\s\S]*\nnone\n/,
    )
    t.match(out, /"username":"admin"[\s\S]*"balance":100,[\s\S]*"total_quota":50000000,/)
    t.match(out, /"model":"gp-4\.1"[\s\S]*"formula":"[\d,]+ input x 14\.40\/1M \+ [\d,]+ output/)
    t.match(out, /refunded \(CNY\) +id +name[\s\S]*admin +100 +0 +0\n/)
    t.match(out, /"key":"sk-\w{49}"[\s\S]*"quota":1000000,[\s\S]*"state":"revoked"/)
  },
)

t.test('docs/accounts.md: its paths are in the shipped console.yaml', async t => {
  const shippedPaths = [
    ...pageOf('program/config/console.yaml').matchAll(
      /path: '?(?:GET|POST|PATCH|DELETE) ([^',\s]+)/g,
    ),
  ]
  const paths = new Set(shippedPaths.map(([, path = '']) => path))
  const mentions = [...pageOf(PAGE).matchAll(/`(?:(?:GET|POST|PATCH|DELETE) )(\/[^`?]+)/g)]
  t.ok(mentions.length >= 10)
  for (const [, path = ''] of mentions) t.ok(paths.has(path), path)
})

t.test('every account view has a shipped route', async t => {
  const routes = pageOf('program/config/console.yaml') + pageOf('routes.yaml')
  for (const view of account.schema.enum as string[])
    t.match(routes, new RegExp(`account: ${view}(?![\\w-])`), view)
})
