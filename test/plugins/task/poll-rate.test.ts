/** The rate of polls: exact over the processes of an installation, one number for each upstream. */
import t from 'tap'
import { createLocalAllowances } from '../../../engine/quota/allowance.ts'
import { PollRate } from '../../../plugins/task/poll-rate.ts'

const STAY = new AbortController().signal
const upstreams = { slow: { options: { polls: '5/s' } }, usual: { options: {} } }

t.test('poll rate: another poll waits for the next window, another upstream does not', async t => {
  const allowances = createLocalAllowances()
  t.teardown(() => allowances.close())
  const rate = new PollRate({ allowance: allowances.open.bind(allowances), upstreams })
  const order: string[] = []
  const polls = ['slow', 'slow', 'slow', 'slow', 'slow', 'slow', 'usual'].map(async upstream => {
    await rate.wait(upstream, STAY)
    order.push(upstream)
  })
  await Promise.all(polls)
  t.equal(order.at(-1), 'slow', 'the sixth of five')
  t.equal(order.filter(each => each === 'slow').length, 6)
})

t.test('poll rate: a poll that waits ends with its signal', async t => {
  const allowances = createLocalAllowances()
  t.teardown(() => allowances.close())
  const rate = new PollRate({ allowance: allowances.open.bind(allowances), upstreams })
  for (let count = 0; count < 5; count++) await rate.wait('slow', STAY)
  await t.rejects(rate.wait('slow', AbortSignal.timeout(30)), { code: 'ABORT_ERR' })
})

t.test('poll rate: a poll ends with its signal while the primary does not answer', async t => {
  const silent = {
    take: () => undefined,
    request: () => new Promise<boolean>(() => {}),
    retryAfter: () => 0,
    returnUnits() {},
    spend() {},
    reading: () => undefined,
  }
  const rate = new PollRate({ allowance: () => silent, upstreams })
  const closing = new AbortController()
  setTimeout(() => closing.abort(), 30)
  await t.rejects(rate.wait('usual', closing.signal), { name: 'AbortError' })
})
