/** The header `Prefer` (RFC 7240): an invalid preference is ignored. */
import t from 'tap'
import { preferenceOf } from '../../../plugins/task/calls/preference.ts'

t.test('Prefer: respond-async with the seconds to wait; what is invalid is ignored', async t => {
  for (const [header, wait] of [
    ['respond-async', 0],
    ['respond-async, wait=10', 10_000],
    ['wait="7", respond-async', 7_000],
    ['Respond-Async; foo=1, WAIT = 3', 3_000],
    ['respond-async, wait=9999999', 50_000],
    ['respond-async, wait=abc', 0],
    ['respond-async, wait=5abc', 0],
    ['respond-async, wait="5', 0],
    ['respond-async, wait=-1', 0],
    ['respond-async, wait=1.5', 0],
    ['respond-async, wait=', 0],
    ['respond-async, wait=x, wait=4', 4_000],
  ] as const)
    t.same(preferenceOf(header), { wait }, header)
  for (const header of [undefined, '', 'wait=5', 'respond-asynchronously', 'return=minimal'])
    t.equal(preferenceOf(header), undefined, String(header))
})
