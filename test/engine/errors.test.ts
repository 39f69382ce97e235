/** Faults from tables, and the conversion of any value value to a fault. */
import t from 'tap'
import type { ErrorTable } from '../../engine/errors.ts'
import { asFault, errors, TollgateError } from '../../engine/errors.ts'

const fault = errors({
  BUSY: [503, 'Busy: %s of %d.', { retryable: true, headers: { 'retry-after': '1' } }],
  BROKEN: [500, 'Broken.'],
  SHOWN: [500, 'Shown.', { expose: true }],
})

t.test('fault table: a row has a status, a message with arguments, and traits', async t => {
  const busy = fault('BUSY', ['one', 2])
  t.type(busy, TollgateError)
  t.type(busy, Error)
  t.match(busy, {
    code: 'BUSY',
    status: 503,
    message: 'Busy: one of 2.',
    retryable: true,
    expose: true,
    headers: { 'retry-after': '1' },
    param: undefined,
  })
  t.match(busy.stack, /errors\.test\.ts/, 'the stack shows the caller')
})

t.test('fault table: status 500 is not exposed unless the row or the caller says so', async t => {
  t.equal(fault('BROKEN').expose, false)
  t.equal(fault('BROKEN').retryable, false)
  t.equal(fault('SHOWN').expose, true)
  t.equal(fault('BROKEN', [], { expose: true }).expose, true, 'by the caller')
})

t.test('fault table: the caller can override traits and add a cause', async t => {
  const cause = new Error('why')
  const busy = fault('BUSY', [1, 2], { retryable: false, param: 'body.n', cause })
  t.match(busy, { retryable: false, param: 'body.n', cause, headers: { 'retry-after': '1' } })
  t.notOk('cause' in fault('BROKEN'))
})

t.test('fault table: an unknown code becomes status 500 with the code as message', async t => {
  const loose: ErrorTable = {}
  t.match(errors(loose)('UNKNOWN'), { code: 'UNKNOWN', status: 500, message: 'UNKNOWN' })
})

t.test('asFault: returns faults unchanged and hides other values', async t => {
  const busy = fault('BUSY', [1, 2])
  t.equal(asFault(busy), busy)
  const plain = { code: 'X', status: 418, message: 'x', expose: true }
  t.equal(asFault(plain), plain, 'any object with the members of a fault')
  const error = new Error('a secret')
  t.match(asFault(error), { code: 'INTERNAL', status: 500, expose: false, cause: error })
  t.equal(asFault(error).message, 'a secret', 'for the log')
  const others: unknown[] = ['text', 7, null, undefined, { code: 'X' }, { code: 'X', status: 1 }]
  for (const value of [...others, { code: 1, status: 400, message: 'x' }])
    t.match(asFault(value), { code: 'INTERNAL', status: 500, expose: false })
  t.equal(asFault('text').message, 'text')
})

t.test('asFault: an object whose members cannot be read becomes an internal fault', async t => {
  const broken = Object.defineProperty({}, 'code', {
    get() {
      throw new Error('not now')
    },
  })
  for (const value of [broken, new Proxy({}, {})])
    t.match(asFault(value), { code: 'INTERNAL', message: /properties cannot be read/ })
  t.match(asFault(null), { code: 'INTERNAL' })
  t.match(asFault({ code: 'X', message: 'no status' }), { code: 'INTERNAL' })
})
