/** Prices by the day of the week: when a day begins, its offset from UTC, and invalid weekdays. */
import t from 'tap'
import { parse } from 'yaml'
import { charge, NOON, problemsOf, ruleIn } from '../../helpers/money/billing.ts'

const rule = (when: string): string =>
  `price: { input: [{ price: 1 / 1M, when: { ${when} } }, 2 / 1M] }`
/** An instant by hours after the midnight that begins Thursday, UTC: 36 is Friday noon. */
const at = (hour: number, minute = 0): number => NOON + ((hour - 12) * 60 + minute) * 60_000

const TABLE: readonly (readonly [what: string, when: string, at: number, holds: boolean])[] = [
  ['Friday ends at midnight', 'weekdays: [sat, sun]', at(47, 59), false],
  ['Saturday begins at midnight', 'weekdays: [sat, sun]', at(48), true],
  ['Sunday ends at midnight', 'weekdays: sat-sun', at(95, 59), true],
  ['Monday begins at midnight', 'weekdays: sat-sun', at(96), false],
  ['Saturday begins earlier at an offset to the east', "weekdays: 'sat, sun +08:00'", at(40), true],
  [
    'Saturday begins later at an offset to the west',
    "weekdays: 'sat, sun -03:30'",
    at(51, 29),
    false,
  ],
  [
    'the offset of the time of day applies',
    "weekdays: [sat], time: '00:00-06:00 +08:00'",
    at(40),
    true,
  ],
  [
    'an offset of their own takes precedence',
    "weekdays: sat UTC, time: '00:00-06:00 +08:00'",
    at(40),
    false,
  ],
  [
    'a time of day past midnight is on the next day',
    "weekdays: [fri], time: '22:00-06:00'",
    at(49),
    false,
  ],
  ['a range can pass the end of the week', 'weekdays: fri-mon', at(96), true],
  ['a single day is a valid list', 'weekdays: thu', at(12), true],
  ['an instant before 1970 has a weekday', 'weekdays: [wed]', -1, true],
]
for (const [what, when, instant, holds] of TABLE)
  t.test(`weekdays: ${what}`, async t => {
    const { nanos } = charge(ruleIn(rule(when)), { input: 1_000_000 }, {}, instant)
    t.equal(nanos, holds ? 1_000_000_000n : 2_000_000_000n)
  })

const INVALID_WEEKDAYS: readonly (readonly [weekdays: string, message: RegExp])[] = [
  ['saturday', /written as in \[sat, sun\]/],
  ['Sat', /written as/],
  ['xyz', /"xyz" is none of sun, mon/],
  ['sat-xyz', /"xyz" is none of/],
  ['[]', /written as/],
  ['""', /written as/],
  ['6', /written as/],
  ['[6]', /written as/],
  ['true', /written as/],
  ['{ sat: true }', /written as/],
  ['[[sat], sun, [6]]', /written as/],
  ['[sat, sat]', /named twice/],
  ['[fri-sun, sat]', /named twice/],
  ['mon-', /written as/],
  ['mon-fri-sat', /written as/],
  ['mon-sun', /all seven days/],
  ['sat CET', /written as/],
  ['sat +15:00', /written as/],
  ['[sat +08:00, sun]', /written as/],
  ['"sat; DROP TABLE charges"', /written as/],
]
t.test('weekdays: an invalid list is reported with its position', async t => {
  for (const [weekdays, message] of INVALID_WEEKDAYS) {
    const problems = problemsOf(parse(rule(`weekdays: ${weekdays}`)))
    t.equal(problems.length, 1, weekdays)
    t.match(problems[0], /^m\.price\.input\.0\.when\.weekdays PRICE_WHEN /)
    t.match(problems[0], message)
  }
})
