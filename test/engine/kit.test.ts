/** The functions that the engine and plugins share; `nearest` has a test of its own. */
import { runInNewContext } from 'node:vm'
import t from 'tap'
import {
  columns,
  countOf,
  isUsageError,
  sinceOf,
  textOf,
  UsageError,
} from '../../engine/cli/kit.ts'
import {
  amountIn,
  asBuffer,
  DURATIONS,
  isCode,
  isFields,
  retryAfterIn,
  SIZES,
} from '../../engine/kit.ts'

t.test('isFields: accepts objects with members only', async t => {
  for (const value of [{}, { a: 1 }, runInNewContext('({})')]) t.ok(isFields(value))
  for (const value of [null, undefined, [], 'text', 1, true]) t.notOk(isFields(value))
})

t.test('asBuffer: shares the memory, and returns the same Buffer', async t => {
  const bytes = new Uint8Array([9, 1, 2, 9]).subarray(1, 3)
  const buffer = asBuffer(bytes)
  t.same([...buffer], [1, 2])
  bytes[0] = 7
  t.equal(buffer[0], 7)
  t.equal(asBuffer(buffer), buffer)
})

t.test('isCode: finds any of several codes in any thrown value', async t => {
  t.ok(isCode({ code: 'A' }, 'A'))
  t.ok(isCode(Object.assign(new Error('x'), { code: 'B' }), 'A', 'B'))
  for (const value of [undefined, null, 'A', {}, { code: 'C' }]) t.notOk(isCode(value, 'A', 'B'))
})

t.test('amountIn: converts units of time and of size', async t => {
  t.equal(amountIn('30d', DURATIONS), 30 * 86_400_000)
  t.equal(amountIn('250ms', DURATIONS), 250)
  t.equal(amountIn('1.5h', DURATIONS), 5_400_000)
  t.equal(amountIn('8MiB', SIZES), 8 * 2 ** 20)
  t.equal(amountIn('20KB', SIZES), 20_000)
  t.equal(amountIn('512', SIZES), 512)
})

t.test('columns: are as wide as the widest cell, also for rows of unequal length', async t => {
  const rows = [['NAME', 'ROLE'], ['ann', 'customer', 'more'], ['bartholomew']]
  t.same(columns(rows), ['NAME         ROLE', 'ann          customer  more', 'bartholomew'])
  t.same(columns([]), [])
})

t.test('sinceOf: accepts spans before now, days and times, and refuses other texts', async t => {
  const now = Date.parse('2026-11-25T12:00:00Z')
  t.equal(sinceOf(undefined, now), undefined)
  t.equal(sinceOf('90s', now), now - 90_000)
  t.equal(sinceOf('7d', now), now - 7 * 86_400_000)
  t.equal(sinceOf('2026-11-01', now), Date.parse('2026-11-01'))
  t.equal(sinceOf('2026-11-01T12:00:00+02:00', now), Date.parse('2026-11-01T10:00:00Z'))
  for (const text of [
    '',
    '7',
    'x',
    '2026-13-01',
    '2026-02-30',
    '2026-02-30T00:00:00Z',
    '2026-11-01T12:00',
    '2026-11-01T99:00:00Z',
  ])
    t.throws(() => sinceOf(text, now), { message: /--since must be a time such as 2h/ }, text)
})

t.test('countOf: accepts whole numbers from 1 to the most, and names the option', async t => {
  for (const count of [1, 7, 20]) t.equal(countOf(String(count), 'top', 20), count)
  t.equal(countOf(undefined, 'top', 20), undefined)
  for (const text of ['0', '21', '-1', '1.5', 'x', '', '1234567890'])
    t.throws(() => countOf(text, 'top', 20), {
      message: '--top must be a whole number from 1 to 20',
    })
})

t.test('UsageError: is recognised if another copy of the class created it', async t => {
  t.ok(isUsageError(new UsageError('it is: x')))
  t.ok(isUsageError({ code: 'USAGE', message: 'of a plugin, which has its own copy' }))
  t.notOk(isUsageError(new Error('x')))
})

t.test('textOf: returns texts only', async t => {
  t.equal(textOf('a'), 'a')
  for (const value of [undefined, true, 1, ['a']]) t.equal(textOf(value), undefined)
})

t.test('retryAfterIn: reads seconds, milliseconds and all three forms of a date', async t => {
  const now = Date.parse('2030-01-01T00:00:00Z')
  for (const [value, ms] of [
    ['120', 120_000],
    ['0', 0],
    [' 1.5 ', 1_500],
    ['Tue, 01 Jan 2030 00:01:00 GMT', 60_000],
    ['Tuesday, 01-Jan-30 00:01:00 GMT', 60_000],
    ['Tue Jan  1 00:01:00 2030', 60_000],
    ['Mon, 31 Dec 2029 00:00:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', Date.parse('9999-12-31T23:59:59Z') - now],
    [['7', '9'], 7_000],
    ['soon', undefined],
    ['', undefined],
    ['-5', undefined],
    ['1e3', undefined],
    ['2030-01-01', undefined],
    ['Tue, no date', undefined],
    [undefined, undefined],
  ] as const)
    t.equal(retryAfterIn({ 'retry-after': value }, now), ms, String(value))
  t.equal(retryAfterIn({ 'retry-after-ms': '250', 'retry-after': '7' }, now), 250)
  t.equal(retryAfterIn({ 'retry-after-ms': 'soon', 'retry-after': '7' }, now), 7_000)
  t.equal(retryAfterIn({}, now), undefined)
})
