/** The frozen rule of a hold: JSON in the currency of accounts, which no reload changes. */
import t from 'tap'
import { METERS } from '../../../plugins/billing/meters.ts'
import { compileRule, freeze, thaw } from '../../../plugins/billing/rule.ts'
import { charge, currencyOf, problemsOf, ruleIn, ruleOf } from '../../helpers/money/billing.ts'

t.test('frozen rule: is valid price options', async t => {
  const rule = ruleIn(`
price:
  input: [{ price: 2.50 USD / 1M, when: { prompt: '> 200k', off_peak: false } }, 1.25 USD / 1M]
  images: { by: [quality, size], price: { high: { 1024x1024: 0.5, default: 1.0 }, default: { default: 2 } }, min: 0.1 }
  seconds: [{ price: 3, per: 60, step: 0.01, when: { time: 22:00-06:00 +08:00, weekdays: [sat, sun] } }, 0]
  discount: { factor: 0.5, when: { off_peak: true }, step: 1 CREDIT }
  min: 0.001
max_calls: { web_search: 10 }`)
  const when = { prompt: '> 200k', off_peak: ['false'] }
  const night = { time: '22:00-06:00 +08:00', weekdays: 'sun, sat +08:00' }
  const table = { high: { '1024x1024': '0.5', default: '1' }, default: { default: '2' } }
  t.strictSame(JSON.parse(freeze(rule)), {
    price: [
      { meter: 'input', when, price: '18 / 1M' },
      { meter: 'input', price: '9 / 1M' },
      { meter: 'images', by: ['quality', 'size'], price: table, min: '0.1' },
      { meter: 'seconds', when: night, price: '3 / 60', step: '0.01' },
      { meter: 'seconds', price: '0' },
      { discount: { factor: '0.5', when: { off_peak: ['true'] }, step: '0.036' } },
      { min: '0.001' },
    ],
    max_calls: { web_search: 10 },
  })
  t.strictSame(thaw(freeze(rule)), rule)
  t.same(problemsOf(JSON.parse(freeze(rule))), [], 'the options compile')
})

t.test('frozen rule: keeps its price when an exchange rate changes', async t => {
  const frozenText = freeze(ruleOf({ price: { input: '1 USD / 1M' } }))
  const cheaper = compileRule(
    { price: { input: '1 USD / 1M' } },
    { currency: currencyOf({ rates: { USD: 7 } }), where: [], report: () => t.fail() },
  )
  t.equal(charge(thaw(frozenText), { input: 1_000_000 }).nanos, 7_200_000_000n)
  t.equal(cheaper && charge(cheaper, { input: 1_000_000 }).nanos, 7_000_000_000n)
})

t.test('frozen rule: keeps every decimal place of a converted price', async t => {
  const rule = ruleOf({ price: { input: '0.000000001 EUR' } })
  t.equal(freeze(rule), '{"price":[{"meter":"input","price":"0.000000007812345678"}]}')
  t.equal(charge(thaw(freeze(rule)), { input: 1e12 }).nanos, 7_812_345_678_000n)
})

t.test('frozen rule: can be free', async t => t.ok(thaw(freeze(ruleOf({ free: true }))).free))

t.test('frozen rule: refuses invalid text', async t => {
  const texts = [
    '',
    'null',
    '7',
    '[]',
    '{}',
    '"price"',
    '{"price":[]}',
    '{"price":[{"meter":"input","price":"2 / 1M"}]',
    '{"price":[{"meter":"inputs","price":"2 / 1M"}]}',
    '{"price":[{"meter":"input","price":"2 USD / 1M"}]}',
    '{"price":[{"meter":"input","price":"-2 / 1M"}]}',
    '{"price":[{"meter":"input","price":"2e3 / 1M"}]}',
    '{"price":[{"meter":"input","price":"0.0000000000000000001"}]}',
    '{"free":true,"price":[{"meter":"input","price":"2"}]}',
    freeze(ruleOf({ price: { input: 1 } })).slice(0, -1),
  ]
  for (const text of texts)
    t.throws(() => thaw(text), { code: 'RULE_UNREADABLE', status: 503, expose: false }, text)
})

t.test('frozen rule: can price every meter', async t => {
  for (const meter of METERS) {
    const rule = thaw(freeze(ruleOf({ price: { [meter]: '0.5' } })))
    t.equal(charge(rule, { calls: 0, [meter]: 2 }).nanos, 1_000_000_000n, meter)
  }
})
