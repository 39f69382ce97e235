/** `tollgate diff`: money first, with per cent; then what was added, removed and changed. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { changesBetween } from '../../../engine/cli/review/changes.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PLAIN = `settings:
  plugins: ['${ROOT}plugins']
  data: DATA
  currency: { name: CNY, rates: { USD: 7 } }
pipeline: [auth, model, limit, meter, translate]
upstreams:
  up: { url: 'https://up.example.com', key: 'sk-first-secret' }
routes:
  - { path: POST /v1/chat/completions, name: chat, model: body, translate: openai-chat }
models:
  a: { to: up/a, price: { input: 2 USD / 1M, output: [{ price: 9 / 1M, when: { prompt: '> 200k' } }, 8 / 1M] } }
  b: { to: up/b, free: true }
  pics: { to: up/p, price: { images: { by: quality, price: { hd: 0.4, default: 0.2 } } } }
`
const NEXT = PLAIN.replace('input: 2 USD', 'input: 2.5 USD')
  .replace("'> 200k' } }, 8 / 1M", "'> 200k' } }, 4 / 1M")
  .replace('hd: 0.4', 'hd: 0.3')
  .replace('  b: { to: up/b, free: true }', '  c: { to: up/b, price: { calls: 0.01 } }')
  .replace("key: 'sk-first-secret'", "key: ['sk-first-secret', 'sk-second-secret']")
  .replace('translate: openai-chat }', 'translate: openai-chat, limit: { requests: 5/min } }')

const pair = (t: Test, before: string, after: string) => {
  const folder = t.testdir({})
  const dataFolder = usedFolder(`${folder}/data`)
  writeFileSync(`${folder}/old.yaml`, before.replace('DATA', dataFolder))
  writeFileSync(`${folder}/new.yaml`, after.replace('DATA', dataFolder))
  return [`${folder}/old.yaml`, `${folder}/new.yaml`] as const
}

t.test('diff: shows prices in per cent before all else, and no secret', async t => {
  const { code, out } = await tollgate(['diff', ...pair(t, PLAIN, NEXT)])
  t.equal(code, 1)
  const [title = '', money = '', ...rest] = out.split('\n\n')
  t.match(title, /old\.yaml → .*new\.yaml/)
  t.match(money, /^money\n/)
  t.match(money, /model a +input +14 \/ 1M +→ 17.5 \/ 1M +\+25 %/)
  t.match(money, /model a +output +8\S*.*→ 4\S*.* +-50 %/)
  t.notMatch(money, /when prompt/, 'an equal price is not listed')
  t.match(money, /model pics +images hd +0\.40? +→ 0\.30? +-25 %/)
  t.match(money, /model b +calls +free +→ none/)
  t.match(money, /model c +calls +none +→ 0\.01/)
  t.match(rest.join('\n'), /added\n {2}models +c\n/)
  t.match(rest.join('\n'), /removed\n {2}models +b\n/)
  t.match(rest.join('\n'), /upstreams +up key +1 key → 2 keys/)
  t.match(rest.join('\n'), /routes +chat limit +none → \{"requests":"5\/min"\}/)
  t.notMatch(out, /first-secret|second-secret/)
})

t.test('diff: an exchange rate changes every price in that currency', async t => {
  const files = pair(t, PLAIN, PLAIN.replace('USD: 7 ', 'USD: 14 '))
  const { out } = await tollgate(['diff', '--json', ...files])
  const { money } = JSON.parse(out)
  t.match(money, [{ subject: 'model a', item: 'input', percent: 100 }])
})

t.test('diff: the price of a route counts as money', async t => {
  const route = PLAIN.replace(
    'translate: openai-chat }',
    'translate: openai-chat, meter: { price: { calls: 1 } } }',
  )
  const { out } = await tollgate(['diff', '--json', ...pair(t, PLAIN, route)])
  t.match(JSON.parse(out).money, [{ subject: 'route chat', item: 'calls', after: /^1/ }])
})

t.test('diff: equal files exit 0', async t => {
  const { code, out } = await tollgate(['diff', ...pair(t, PLAIN, `# a comment\n${PLAIN}`)])
  t.match({ code, out }, { code: 0, out: /: no difference$/ })
})

t.test('diff: compares a version of the history, by default the last, with the file', async t => {
  const folder = t.testdir({})
  const config = `${folder}/routes.yaml`
  const placed = (yaml: string) => yaml.replace('DATA', `${folder}/data`)
  writeFileSync(config, placed(NEXT))
  t.match(await tollgate(['diff', '-c', config]), { code: 3, err: /name two files/ })
  mkdirSync(`${folder}/data/history`, { recursive: true })
  const entry = (version: number, yaml: string) =>
    writeFileSync(
      `${folder}/data/history/${version}.json`,
      JSON.stringify({
        version,
        hash: '',
        time: '',
        files: { 'routes.yaml': placed(yaml) },
        plugins: [],
      }),
    )
  // A version has the bundles of its time: these have none, so no plugin checks the keys.
  const bare = `settings: { data: '${folder}/data' }\nupstreams: { up: { url: 'http://127.0.0.1:1' } }\nroutes: [{ path: GET /a, upstream: up }]\n`
  entry(3, bare)
  entry(4, bare.replace('/a', '/b'))
  writeFileSync(config, bare)
  t.match(await tollgate(['diff', '-c', config]), { code: 1, out: /#4 → .*routes\.yaml/ })
  t.match(await tollgate(['diff', '3', '-c', config]), { code: 0 })
  t.match(await tollgate(['diff', '3', '#4', '-c', config]), {
    code: 1,
    out: /added\n {2}routes +GET \/b\n\nremoved\n {2}routes +GET \/a/,
  })
  t.match(await tollgate(['diff', '9', '-c', config]), { code: 3, err: /no version 9/ })
})

t.test('diff: a long value is cut where it is wider than the column', async t => {
  const document = (note: string) => ({ settings: { note } }) as never
  const [exact, long] = ['x'.repeat(60), 'y'.repeat(61)]
  const [change] = changesBetween(document(exact), document(long), text => text)
  t.match(JSON.stringify(change), `"${exact}"`)
  t.match(JSON.stringify(change), `"${'y'.repeat(59)}…"`)
})
