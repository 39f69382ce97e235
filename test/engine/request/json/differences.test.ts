/** The check of JSON bodies gives what a slower one gives: the same value, or the same error. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parseJson } from '../../../../engine/request/json.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'
import { document } from './documents.ts'
import { parseSlowly } from './oracle.ts'

const RUNS = shortOrLong(8_000, 1_000_000)

const resultOf = (parse: (bytes: Buffer) => unknown, bytes: Buffer): unknown => {
  try {
    return { value: parse(bytes) }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return { code, message }
  }
}

t.test('JSON: any body gives the same value or error as the slower check', async t => {
  const codes = new Map<string, number>()
  for (let run = 0; run < RUNS; run++) {
    const bytes = document()
    const expected = resultOf(parseSlowly, bytes)
    const actual = resultOf(parseJson, bytes)
    const { code = 'ok' } = expected as { code?: string }
    codes.set(code, (codes.get(code) ?? 0) + 1)
    if (!isDeepStrictEqual(actual, expected)) {
      t.same(actual, expected, bytes.toString('latin1').slice(0, 500))
      break
    }
  }
  t.comment(JSON.stringify(Object.fromEntries(codes)))
  for (const code of ['ok', 'NOT_JSON', 'NOT_UTF8', 'TOO_DEEP', 'DUPLICATE_KEY', 'FORBIDDEN_KEY'])
    t.ok(codes.has(code === 'ok' ? code : `BODY_${code}`), code)
})
