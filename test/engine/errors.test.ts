/** Faults from tables, and what any thrown value becomes. */
import t from 'tap'
import type { ErrorTable } from '../../engine/errors.ts'
import { asFault, errors, TollgateError } from '../../engine/errors.ts'

const fault = errors({
  BUSY: [503, 'Busy: %s of %d.', { retryable: true, headers: { 'retry-after': '1' } }],
  BROKEN: [500, 'Broken.'],
  SHOWN: [500, 'Shown.', { expose: true }],
})

t.test('a row is a status, a message with its arguments, and traits', async t => {
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
  t.match(busy.stack, /errors\.test\.ts/, 'where it was thrown')
})

t.test('an accident of ours is not for the client, unless the row says so', async t => {
  t.equal(fault('BROKEN').expose, false)
  t.equal(fault('BROKEN').retryable, false)
  t.equal(fault('SHOWN').expose, true)
  t.equal(fault('BROKEN', [], { expose: true }).expose, true, 'or whoever throws it')
})

t.test('who throws it adds traits, and the cause', async t => {
  const cause = new Error('why')
  const busy = fault('BUSY', [1, 2], { retryable: false, param: 'body.n', cause })
  t.match(busy, { retryable: false, param: 'body.n', cause, headers: { 'retry-after': '1' } })
  t.notOk('cause' in fault('BROKEN'))
})

t.test('a code that no row has is an accident named by it', async t => {
  const loose: ErrorTable = {}
  t.match(errors(loose)('NOBODY'), { code: 'NOBODY', status: 500, message: 'NOBODY' })
})

t.test('whatever is thrown is a fault; what was none is hidden', async t => {
  const own = fault('BUSY', [1, 2])
  t.equal(asFault(own), own)
  const plain = { code: 'X', status: 418, message: 'x', expose: true }
  t.equal(asFault(plain), plain, 'a plugin need not use our class')
  const error = new Error('a secret')
  t.match(asFault(error), { code: 'INTERNAL', status: 500, expose: false, cause: error })
  t.equal(asFault(error).message, 'a secret', 'for the log')
  const others: unknown[] = ['text', 7, null, undefined, { code: 'X' }, { code: 'X', status: 1 }]
  for (const thrown of [...others, { code: 1, status: 400, message: 'x' }])
    t.match(asFault(thrown), { code: 'INTERNAL', status: 500, expose: false })
  t.equal(asFault('text').message, 'text')
})
