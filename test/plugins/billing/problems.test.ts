/** Invalid prices: each is refused with its position, a code and a remedy. */
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { compileCurrency } from '../../../plugins/billing/currency.ts'
import { problemsOf } from '../../helpers/money/billing.ts'

const TABLE: readonly (readonly [options: string, ...patterns: RegExp[]])[] = [
  // neither or both of price and free
  ['{}', /^m PRICE_MISSING .*free: true/],
  ['free: false', /^m PRICE_MISSING/],
  ['free: yes', /^m PRICE_MISSING/],
  ['{ free: true, price: { input: 1 } }', /^m\.free PRICE_AND_FREE/],
  // shapes
  ['price:', /^m\.price PRICE_SHAPE a price is a map such as/],
  ['price: 2.00', /^m\.price PRICE_SHAPE/],
  ['price: 2.00 / 1M', /^m\.price PRICE_SHAPE/],
  ['price: true', /^m\.price PRICE_SHAPE/],
  ['price: {}', /^m\.price PRICE_SHAPE/],
  ['price: []', /^m\.price PRICE_SHAPE/],
  ['price: { min: 1 }', /^m\.price PRICE_SHAPE/],
  ['price: [{ min: 1 }]', /^m\.price PRICE_SHAPE/],
  ['price: [1]', /^m\.price\.0 PRICE_SHAPE a line is a map/, /^m\.price PRICE_SHAPE/],
  ['price: [[{ meter: input, price: 1 }]]', /^m\.price\.0 PRICE_SHAPE/, /^m\.price PRICE_SHAPE/],
  [
    'price: [{ meter: input, price: 1 }, { min: 1 }, { min: 2 }]',
    /^m\.price\.2 PRICE_SHAPE the minimum of the whole is set twice/,
  ],
  ['price: { input: [] }', /^m\.price PRICE_SHAPE/],
  [
    'price: [{ meter: input, price: 1 }, { discount: { factor: 1 } }, { discount: { factor: 0 } }]',
    /^m\.price\.2 PRICE_SHAPE the discount of the whole is set twice/,
  ],
  ['price: { calls: 1, discount: 0.5 }', /^m\.price\.discount PRICE_SHAPE a discount is a map/],
  ['price: { calls: 1, discount: {} }', /^m\.price\.discount\.factor PRICE_AMOUNT .*from 0 to 1/],
  [
    'price: { calls: 1, discount: { factor: 1.5 } }',
    /^m\.price\.discount\.factor PRICE_AMOUNT .*1.5 is more than 1/,
  ],
  [
    'price: { calls: 1, discount: { factor: 0.5, steps: 1 } }',
    /^m\.price\.discount\.steps PRICE_KEY .*"steps"\. Allowed keys: factor, when, step/,
  ],
  [
    'price: { calls: 1, discount: { factor: 0.5, when: true, step: x } }',
    /^m\.price\.discount\.when PRICE_WHEN/,
    /^m\.price\.discount\.step PRICE_AMOUNT/,
  ],
  // meters
  ['price: { ouput: 1 }', /^m\.price\.ouput PRICE_METER unknown meter "ouput"; .* output,/],
  ['price: { Input: 1 }', /^m\.price\.Input PRICE_METER/],
  ['price: { call: 1 }', /^m\.price\.call PRICE_METER .* calls,/],
  ['price: { prompt: 1 }', /^m\.price\.prompt PRICE_METER/],
  ['price: { __proto__: 1 }', /^m\.price\.__proto__ PRICE_METER/],
  ['price: { constructor: 1 }', /^m\.price\.constructor PRICE_METER/],
  ['price: [{ price: 1 }]', /^m\.price\.0 PRICE_METER unknown meter undefined/],
  ['price: [{ meter: 7, price: 1 }]', /^m\.price\.0 PRICE_METER unknown meter 7/],
  ['price: [{ meter: [input], price: 1 }]', /^m\.price\.0 PRICE_METER/],
  // keys
  [
    'price: { input: { price: 1, pre: 1M } }',
    /^m\.price\.input\.pre PRICE_KEY .*"pre"\. Allowed keys: /,
  ],
  ['price: { input: { meter: input, price: 1 } }', /^m\.price\.input\.meter PRICE_KEY/],
  ['price: [{ meter: input, price: 1, unit: 1M }]', /^m\.price\.0\.unit PRICE_KEY/],
  // amounts
  ['price: { input: }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: {} }', /^m\.price\.input PRICE_AMOUNT this line has no `price`/],
  ['price: { input: -1 }', /^m\.price\.input PRICE_AMOUNT -1 is negative/],
  ['price: { input: -1.00 / 1M }', /^m\.price\.input PRICE_AMOUNT "-1\.00" is negative/],
  ['price: { input: 1e-7 }', /^m\.price\.input PRICE_AMOUNT .*exponent/],
  ['price: { input: "1e-7 / 1M" }', /^m\.price\.input PRICE_AMOUNT .*exponent/],
  ['price: { input: .nan }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: .inf }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: 0.0000000001 / 1M }', /^m\.price\.input PRICE_AMOUNT .*9 decimal places/],
  ['price: { input: 1000000001 }', /^m\.price\.input PRICE_AMOUNT .*more than 1000000000$/],
  ['price: { input: "1,5 / 1M" }', /^m\.price\.input PRICE_AMOUNT "1,5" is not a decimal/],
  ['price: { input: $2 / 1M }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: free }', /^m\.price\.input PRICE_AMOUNT "free" is not a decimal/],
  ['price: { input: "" }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: "/ 1M" }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: true }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: 2 usd / 1M }', /^m\.price\.input PRICE_AMOUNT .*such as 2\.00 or 2\.00 USD/],
  ['price: { input: 2 USD EUR }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: USD 2 }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: 0.12345678901234567 }', /^m\.price\.input PRICE_AMOUNT .*in quotes/],
  ['price: { input: [1] , output: [x] }', /^m\.price\.output\.0 PRICE_AMOUNT/],
  // currencies
  [
    'price: { input: 2 GBP / 1M }',
    /^m\.price\.input PRICE_CURRENCY no exchange rate for GBP; .*USD/,
  ],
  ['price: { input: { price: 1, min: 1 YEN } }', /^m\.price\.input\.min PRICE_CURRENCY/],
  // per
  ['price: { input: 2 / 0 }', /^m\.price\.input PRICE_PER a price is per 1, 1k, 1M/],
  ['price: { input: 2 / 1m }', /^m\.price\.input PRICE_PER/],
  ['price: { input: 2 / 1.5 }', /^m\.price\.input PRICE_PER/],
  ['price: { input: 2 / -1M }', /^m\.price\.input PRICE_PER/],
  ['price: { input: 2 / token }', /^m\.price\.input PRICE_PER/],
  ['price: { input: 2 / 1001M }', /^m\.price\.input PRICE_PER .*up to 1000000000/],
  ['price: { input: 2 / 1M / 2 }', /^m\.price\.input PRICE_AMOUNT/],
  ['price: { input: { price: 2, per: 0 } }', /^m\.price\.input\.per PRICE_PER/],
  ['price: { input: { price: 2, per: second } }', /^m\.price\.input\.per PRICE_PER/],
  ['price: { input: { price: 2, per: [1M] } }', /^m\.price\.input\.per PRICE_PER/],
  [
    'price: { input: { price: 2 / 1k, per: 1k } }',
    /^m\.price\.input\.price PRICE_PER both the price and `per` set a unit/,
  ],
  // min and step
  ['price: { input: 1, min: -1 }', /^m\.price\.min PRICE_AMOUNT .*negative/],
  ['price: { input: 1, min: 1 / 1k }', /^m\.price\.min PRICE_AMOUNT/],
  ['price: [{ meter: input, price: 1 }, { min: x }]', /^m\.price\.1\.min PRICE_AMOUNT/],
  ['price: { input: { price: 1, min: {} } }', /^m\.price\.input\.min PRICE_AMOUNT/],
  ['price: { input: { price: 1, step: -1 } }', /^m\.price\.input\.step PRICE_AMOUNT/],
  // by
  [
    'price: { images: { low: 1, high: 2 } }',
    /^m\.price\.images\.low PRICE_KEY/,
    /high PRICE_KEY/,
    /PRICE_AMOUNT/,
  ],
  ['price: { images: { price: { low: 1 } } }', /^m\.price\.images\.price PRICE_BY .*needs `by`/],
  [
    'price: { images: { by: size, price: 1 } }',
    /^m\.price\.images\.price PRICE_BY a price by size/,
  ],
  ['price: { images: { by: size, price: {} } }', /^m\.price\.images\.price PRICE_BY/],
  ['price: { images: { by: 7, price: { a: 1 } } }', /^m\.price\.images\.by PRICE_BY/],
  ['price: { images: { by: [], price: { a: 1 } } }', /^m\.price\.images\.by PRICE_BY/],
  ['price: { images: { by: Size, price: { a: 1 } } }', /^m\.price\.images\.by PRICE_BY/],
  [
    'price: { images: { by: [a, a], price: { a: { a: 1 } } } }',
    /^m\.price\.images\.by PRICE_BY .*twice/,
  ],
  ['price: { images: { by: [a, b, c, d], price: { a: 1 } } }', /^m\.price\.images\.by PRICE_BY/],
  [
    'price: { images: { by: seconds, price: { 5: 1 } } }',
    /^m\.price\.images\.by PRICE_BY .*`when`/,
  ],
  ['price: { images: { by: [a, b], price: { x: 1 } } }', /^m\.price\.images\.price\.x PRICE_BY/],
  ['price: { images: { by: a, price: { x: { y: 1 } } } }', /^m\.price\.images\.price\.x PRICE_BY/],
  [
    'price: { images: { by: a, price: { x: 1, y: oops } } }',
    /^m\.price\.images\.price\.y PRICE_AMOUNT/,
  ],
  // when
  ...(
    [
      ['always', /^m\.price\.input\.0\.when PRICE_WHEN a condition is a map/],
      ['{}', /^m\.price\.input\.0\.when PRICE_WHEN/],
      ['[prompt]', /^m\.price\.input\.0\.when PRICE_WHEN/],
      ['{ prompt: 200k }', /^m\.price\.input\.0\.when\.prompt PRICE_WHEN .*'> 200k'/],
      ['{ prompt: true }', /when\.prompt PRICE_WHEN/],
      ['{ prompt: "> " }', /when\.prompt PRICE_WHEN/],
      ['{ prompt: "> 1 2" }', /when\.prompt PRICE_WHEN/],
      ['{ prompt: "> 1 < 2 < 3" }', /when\.prompt PRICE_WHEN/],
      ['{ prompt: "=> 1" }', /when\.prompt PRICE_WHEN/],
      ['{ prompt: "> 1.2.3" }', /when\.prompt PRICE_WHEN .*not a decimal/],
      ['{ prompt: "> 1e6" }', /when\.prompt PRICE_WHEN/],
      ['{ prompt: "> 5 < 5" }', /when\.prompt PRICE_WHEN nothing is > 5 < 5/],
      ['{ prompt: "< 0" }', /when\.prompt PRICE_WHEN nothing is < 0/],
      ['{ prompt: "> 1000000000000k" }', /when\.prompt PRICE_WHEN .*more than any call/],
      ['{ prompt: -1 }', /when\.prompt PRICE_WHEN .*negative/],
      ['{ Resolution: 2K }', /when\.Resolution PRICE_WHEN .*neither a meter nor an attribute/],
      ['{ size: {} }', /when\.size PRICE_WHEN an attribute is compared with/],
      ['{ size: [] }', /when\.size PRICE_WHEN/],
      ['{ size: [a, [b]] }', /when\.size PRICE_WHEN/],
      ['{ size: }', /when\.size PRICE_WHEN/],
      ['{ duration: "> x" }', /when\.duration PRICE_WHEN/],
      ['{ time: night }', /when\.time PRICE_WHEN a time of day is written as in/],
      ['{ time: 22:00-25:00 }', /when\.time PRICE_WHEN/],
      ['{ time: 9:00-10:00 }', /when\.time PRICE_WHEN/],
      ['{ time: 22:00-22:00 }', /when\.time PRICE_WHEN .*must not end when it begins/],
      ['{ time: 22:00-06:00 CET }', /when\.time PRICE_WHEN/],
      ['{ time: [22:00-06:00] }', /when\.time PRICE_WHEN/],
    ] as const
  ).map(
    ([when, problem]) => [`price: { input: [{ price: 1, when: ${when} }, 2] }`, problem] as const,
  ),
  // order
  [
    'price: { input: { price: 1, when: { hd: true } } }',
    /^m\.price\.input PRICE_ORDER the last line of input must have no `when`/,
  ],
  [
    'price: { input: [1, 2] }',
    /^m\.price\.input\.0 PRICE_ORDER this line has no `when` and takes all input/,
  ],
  ['price: [{ meter: input, price: 1 }, { meter: input, price: 2 }]', /^m\.price\.0 PRICE_ORDER/],
  [
    'price: { input: [1, { price: 2, when: { hd: true } }] }',
    /^m\.price\.input\.0 PRICE_ORDER/,
    /^m\.price\.input\.1 PRICE_ORDER/,
  ],
  // bounds
  ['{ free: true, max_calls: 5 }', /^m\.max_calls PRICE_MAX_CALLS max_calls is a map/],
  [
    '{ free: true, max_calls: { searches: 5 } }',
    /^m\.max_calls\.searches PRICE_MAX_CALLS unknown meter/,
  ],
  [
    '{ free: true, max_calls: { web_search: -1 } }',
    /^m\.max_calls\.web_search PRICE_MAX_CALLS a whole/,
  ],
  ['{ free: true, max_calls: { web_search: 1.5 } }', /^m\.max_calls\.web_search PRICE_MAX_CALLS/],
  ['{ free: true, max_calls: { web_search: "5" } }', /^m\.max_calls\.web_search PRICE_MAX_CALLS/],
  [
    '{ free: true, max_calls: { web_search: 1000001 } }',
    /^m\.max_calls\.web_search PRICE_MAX_CALLS/,
  ],
  // several problems together
  [
    'price: { ouput: 1, input: -1, cached: { price: 1 / 0, by: 7, when: 5, min: x } }',
    /^m\.price\.ouput PRICE_METER/,
    /^m\.price\.input PRICE_AMOUNT/,
    /^m\.price\.cached\.min PRICE_AMOUNT/,
    /^m\.price\.cached\.when PRICE_WHEN/,
    /^m\.price\.cached\.by PRICE_BY/,
    /^m\.price\.cached PRICE_ORDER/,
  ],
]

const matchProblems = (t: Test, problems: readonly string[], patterns: readonly RegExp[]): void => {
  t.match(problems, patterns)
  t.equal(problems.length, patterns.length, 'and no other problem')
}
t.test('price problems: the table has at least 60 rows', async t =>
  t.ok(TABLE.length >= 60, `${TABLE.length}`),
)
for (const [options, ...patterns] of TABLE)
  t.test(`price problems: ${options}`, async t =>
    matchProblems(t, problemsOf(parse(options)), patterns),
  )

t.test('price problems: valid prices have none', async t => {
  for (const options of [
    'price: { input: 2.00/1M, output: 8.00 USD/1M }',
    'price: { input: 2.00   USD  /  1M, output: 3 / M, cached: 1 / k, calls: "0.1" }',
    'price: { input: 0 }',
    'price: { input: 0.000000001 / 1000M }',
    'price: [{ meter: calls, price: 1, when: { prompt: "> 32k <= 1M", images: 1 } }, { meter: calls, price: 2 }]',
    'price: { images: { by: [a, b, c], price: { x: { y: { z: 1, default: 2 } } } } }',
    '{ price: { web_search: 25 / 1k }, max_calls: { web_search: 0 } }',
    '{ free: true, max_calls: { web_search: 1 } }',
  ])
    t.same(problemsOf(parse(options)), [], options)
})

t.test('currency problems: invalid names and rates are reported', async t => {
  const rows: readonly (readonly [options: unknown, problem: RegExp])[] = [
    [{ name: 'yuan' }, /^c\.name CURRENCY_RATE the name of a currency is a code/],
    [{ name: 7 }, /^c\.name CURRENCY_RATE/],
    [{ rates: { usd: 7.2 } }, /^c\.rates\.usd CURRENCY_RATE "usd" is not a code/],
    [{ rates: { USD: 0 } }, /^c\.rates\.USD CURRENCY_RATE .*must be above 0/],
    [{ rates: { USD: -7 } }, /^c\.rates\.USD CURRENCY_RATE -7 is negative/],
    [{ rates: { USD: '7,2' } }, /^c\.rates\.USD CURRENCY_RATE .*not a decimal/],
    [{ rates: { USD: null } }, /^c\.rates\.USD CURRENCY_RATE/],
    [{ rates: { USD: '7.1234567891' } }, /^c\.rates\.USD CURRENCY_RATE .*9 decimal places/],
    [{ rates: { CNY: 2 } }, /^c\.rates\.CNY CURRENCY_RATE .*its rate is 1/],
  ]
  for (const [options, problem] of rows) {
    const problems: string[] = []
    compileCurrency(options, ['c'], (where, code, message) =>
      problems.push(`${where.join('.')} ${code} ${message}`),
    )
    matchProblems(t, problems, [problem])
  }
  t.same(
    [
      ...compileCurrency({ rates: { CNY: 1, USD: 7.2 } }, [], () => t.fail('it has no problem'))
        .rates,
    ],
    [
      ['CNY', 1_000_000_000n],
      ['USD', 7_200_000_000n],
    ],
  )
  t.equal(compileCurrency(undefined, [], () => t.fail('it has no problem')).name, 'CNY')
})
