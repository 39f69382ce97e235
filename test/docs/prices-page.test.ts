/** docs/prices.md: its prices are valid, and it names every key of the price language. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { METERS } from '../../plugins/billing/meters.ts'
import { usedFolder } from '../helpers/cache.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { problemsOf } from '../helpers/money/billing.ts'
import { blockOf, blocksOf, pageOf } from './blocks.ts'

const PAGE = 'docs/prices.md'
t.test('docs/prices.md: its examples are valid prices', async t => {
  const examples = blocksOf(PAGE).filter(({ language }) => language === 'yaml')
  t.ok(examples.length >= 5)
  for (const { text } of examples) t.same(problemsOf(parse(text)), [], text)
})

t.test('docs/prices.md: names every meter and key', async t => {
  for (const word of [...METERS, 'by', 'when', 'min', 'step', 'per', 'max_calls', 'free', 'time'])
    t.match(pageOf(PAGE), new RegExp(`\\b${word}\\b`), word)
})

t.test(
  'docs/prices.md: its command shows the price of the night, and without a time that of now',
  async t => {
    const night = blocksOf(PAGE).find(({ text }) => text.includes("time: '22:00-06:00 +08:00'"))
    const { price } = parse(night?.text ?? '') as { price: object }
    const folder = t.testdir({
      'request.json': '{"model":"gp","max_tokens":10,"messages":[]}',
      'routes.yaml': `
settings: { data: '\${DATA}', plugins: ['${join(import.meta.dirname, '../../plugins')}'], currency: { name: CNY } }
pipeline: [auth, model, meter, sandbox]
upstreams: { up: { url: 'sandbox:' } }
models: { gp: { to: up/gp, price: ${JSON.stringify(price)} } }
routes: [{ path: POST /v1/chat/completions, auth: key, model: body }]
`,
    })
    const store = mkdtempSync(join(tmpdir(), 'tollgate-'))
    t.teardown(() => rmSync(store, { recursive: true, maxRetries: 5 }))
    const env = { DATA: usedFolder(store) }
    const [, ...words] = blockOf(PAGE, 'sh').trim().split(' ')
    const run = (...argv: readonly string[]) =>
      tollgate(
        [
          ...argv.map(word => (word === 'request.json' ? join(folder, word) : word)),
          '-c',
          join(folder, 'routes.yaml'),
        ],
        env,
      )
    const quoteAt = (time: string) => run(...words.with(-1, time))
    t.match(await run(...words), { code: 0, out: /input x 1\.00\/1M \+ 10 output x 4\.00\/1M/ })
    t.match(await quoteAt('2030-01-31T12:00+08:00'), {
      code: 0,
      out: /input x 2\.00\/1M \+ 10 output x 8\.00\/1M/,
    })
    t.match(await quoteAt('2030-01-31T21:59Z'), { code: 0, out: /10 output x 4\.00/ })
    const outNow = async () => (await quoteAt(`${new Date().toISOString().slice(0, 16)}Z`)).out
    const before = await outNow()
    const { out } = await run(...words.slice(0, -2))
    t.ok([before, await outNow()].includes(out), out)
    for (const wrong of ['23:30', '2030-01-31T23:30', 'tonight'])
      t.match(await quoteAt(wrong), { code: 2, err: /--at must be a time with its offset/ }, wrong)
  },
)
