/** The price book, and `tollgate prices diff`. */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { PriceBook } from '../../../../program/commands/starter/price-book.ts'
import { shipped } from '../../../../program/commands/starter/shipped.ts'
import { tollgate } from '../../../helpers/gateway/command-line.ts'
import { temporaryFolder } from '../../../helpers/store/store.ts'
import { priceBreaches } from '../../../laws/catalogue/prices.ts'

const BOOK = 'models/prices.yaml'
const textOf = (path: string) =>
  readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')

t.test('price book: the shipped one has a date, a source and a host for each provider', async t => {
  const { providers } = new PriceBook(shipped(BOOK))
  t.ok(providers.size >= 5)
  for (const [name, { date, source, host }] of providers)
    t.match([date, source, host], [/^20\d\d-\d\d-\d\d$/, /^https:\/\//, /^[a-z.]+$/], name)
})

t.test('prices diff: names each price that differs', async t => {
  const file = `${temporaryFolder(t)}/prices.yaml`
  const diff = async (text: string, ...options: string[]) => {
    writeFileSync(file, text)
    return tollgate(['prices', 'diff', file, ...options])
  }
  const text = textOf(BOOK)
  t.match(await diff(text), { code: 0, out: /no price differs/ })
  t.match(await diff(text.replace('2.50 USD / 1M', '2.5 USD / 1M')), { code: 0 }, 'the same')
  const newer = text
    .replace('gpt-4.1: { input: 2.00 USD', 'gpt-4.1: { input: 1.75 USD')
    .replace('recraftv3_vector: ', 'recraftv4: ')
    .replaceAll('2025-11-24', '2026-11-24')
  const result = await diff(newer)
  t.match(result, { code: 1, out: /2025-11-24 +2026-11-24\n/ })
  t.match(result.out, /openai +gpt-4\.1 +input +2\.00 USD \/ 1M +1\.75 USD \/ 1M\n/)
  t.match(result.out, /recraft +recraftv4 +images +- +0\.08 USD\n/)
  t.match(result.out, /not in the other book: recraft\/recraftv3_vector$/)
  t.match(JSON.parse((await diff(newer, '--json')).out), {
    after: '2026-11-24',
    changes: [{ model: 'gpt-4.1', meter: 'input', before: '2.00 USD / 1M' }, {}],
    missing: ['recraft/recraftv3_vector'],
  })
  const provider = (models: string) =>
    `prices: { a: { host: a, source: b, date: c, models: ${models} } }`
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['', /no section `prices`/],
    ['- 1', /no section `prices`/],
    ['prices: { a: 1 }', /prices\.a\.host must be a text/],
    [provider('1'), /prices\.a\.models must be a map/],
    [provider('{ x: 1 }'), /prices\.a\.models\.x: it must be a map/],
    [provider('{ x: { inputt: 1 USD } }'), /prices\.a\.models\.x: unknown meter "inputt"/],
    [provider('{ x: { input: much } }'), /prices\.a\.models\.x: /],
    ['prices: [', /cannot read/],
  ]
  for (const [text, err] of wrong) t.match(await diff(text), { code: 2, err }, text)
  t.match(await tollgate(['prices', 'diff', `${file}.gone`]), { code: 2, err: /cannot read/ })
})

t.test('law on prices: the catalogue agrees with the price book', async t => {
  const paths = ['routes.yaml', BOOK, 'models/gp.yaml', 'models/cl.yaml', 'models/gx.yaml']
  const breaches = (path = '', from = '', to = '') =>
    priceBreaches(
      paths.map(each => ({
        path: each,
        text: each === path ? textOf(each).replace(from, to) : textOf(each),
      })),
    ).map(({ path, message }) => `${path} ${message}`)
  t.same(breaches(), [])
  t.match(breaches(BOOK, 'gpt-4.1: { input: 2.00', 'gpt-4.1: { input: 2.01'), [
    /^models\/gp\.yaml gp-4\.1: the price of input is not that of models\/prices\.yaml$/,
  ])
  t.match(
    breaches(
      'models/gx.yaml',
      "default: 2.50 USD / 1M }, when: { prompt: '> 200k'",
      "default: 2.51 USD / 1M }, when: { prompt: '> 200k'",
    ),
    [/gx-2\.5-pro: the price of input/],
    'the standard tier',
  )
  t.match(breaches(BOOK, 'tts-1-hd:', 'tts-2:'), [/tts-1-hd: .* neither has "tts-1-hd"/])
})
