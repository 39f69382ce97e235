/** Plugin `meter`: a route without a credential whose calls have prices is a problem at load. */
import { join } from 'node:path'
import t from 'tap'
import { usedFolder } from '../helpers/cache.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'

const PLUGINS = join(import.meta.dirname, '../../plugins')
const check = async (route: string, price: string) => {
  const folder = t.testdir({
    'routes.yaml': `settings: { data: '${t.testdirName}/data', plugins: ['${PLUGINS}'] }
pipeline: [auth, model, meter, sandbox]
upstreams: { up: { url: 'sandbox:' } }
models: { m: { to: up/m, ${price} } }
routes: [{ path: POST /chat, name: chat, model: body${route} }]
`,
  })
  usedFolder(join(folder, 'data'))
  const { out } = await tollgate(['check', '--json', '-c', join(folder, 'routes.yaml')])
  const { problems } = JSON.parse(out) as {
    problems: readonly { readonly code: string; readonly line: number }[]
  }
  return problems.map(({ code, line }) => `${line} ${code}`)
}
const PRICED = 'price: { input: 1 CNY / 1M, output: 1 CNY / 1M }'

t.test('meter: a priced route without a credential is a problem', async t => {
  t.same(await check(', auth: none', PRICED), ['5 METER_NOBODY'])
  t.same(await check(', auth: none, meter: { price: { calls: 1 CNY } }', 'free: true'), [
    '5 METER_NOBODY',
  ])
})

t.test('meter: free calls, and calls with a key, need no account', async t => {
  t.same(await check(', auth: none', 'free: true'), [])
  t.same(await check(', auth: none, meter: { free: true }', PRICED), [])
  t.same(await check(', auth: [key, none]', PRICED), [])
  t.same(await check('', PRICED), [])
})
