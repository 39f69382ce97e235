/** Units of durations and sizes. */
import t from 'tap'
import {
  DURATION_PATTERN,
  parseDuration,
  parseSize,
  SIZE_PATTERN,
} from '../../../../engine/config/compile/units.ts'
import fc from '../../../helpers/property.ts'

t.test('units: durations are milliseconds', async t => {
  const durations = {
    '250ms': 250,
    '5s': 5000,
    '2m': 120_000,
    '1h': 3_600_000,
    '1.5s': 1500,
    '0s': 0,
  }
  for (const [text, ms] of Object.entries(durations)) t.equal(parseDuration(text), ms, text)
})

t.test('units: sizes are bytes, decimal and binary', async t => {
  const sizes = {
    '512': 512,
    '512B': 512,
    '20KB': 20_000,
    '20KiB': 20_480,
    '32MiB': 33_554_432,
    '20MB': 20_000_000,
    '1GB': 1_000_000_000,
    '1.5KiB': 1536,
  }
  for (const [text, bytes] of Object.entries(sizes)) t.equal(parseSize(text), bytes, text)
  t.equal(parseSize(512), 512, 'a YAML number is bytes')
})

t.test('units: other texts are refused with an example', async t => {
  for (const text of ['5', '5 s', 's', '-5s', '5S', '1e3s', '5s ', '', '5.s', 'Infinity'])
    t.throws(
      () => parseDuration(text),
      { message: /not a duration such as 5s/ },
      JSON.stringify(text),
    )
  for (const text of ['32mib', '1 MB', '-1', 'MB', '1e3', '0x10', '1.', '1TB'])
    t.throws(() => parseSize(text), { message: /not a size such as 32MiB/ }, JSON.stringify(text))
})

t.test('units: a duration is limited to what a timer supports', async t => {
  t.equal(parseDuration('999999999h'), 2 ** 31 - 1)
})

t.test('units: patterns and parsers agree on every text', async t => {
  const units = fc.constantFrom('ms', 's', 'm', 'h', 'B', 'KB', 'KiB', 'GiB', '', ' s', 'x')
  fc.assert(
    fc.property(fc.nat(), units, fc.constantFrom('', '.5', '.'), (number, unit, fraction) => {
      const text = `${number}${fraction}${unit}`
      for (const [pattern, parse] of [
        [DURATION_PATTERN, parseDuration],
        [SIZE_PATTERN, parseSize],
      ] as const) {
        if (new RegExp(pattern).test(text)) parse(text)
        else t.throws(() => parse(text))
      }
    }),
  )
})
