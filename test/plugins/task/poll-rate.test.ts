/** The rate of polls: exact over the processes of an installation, one number for each upstream. */
import t from 'tap'
import type { Allowance } from '../../../engine/plugin.ts'
import { createLocalAllowances } from '../../../engine/quota/allowance.ts'
import { PollRate } from '../../../plugins/task/poll-rate.ts'

const STAY = new AbortController().signal
const upstreams = {
  slow: { options: { polls: '5/s' } },
  usual: { options: {} },
  fast: { options: { polls: '5000/s' } },
}

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

for (const upstream of ['usual', 'fast'])
  t.test(`poll rate: no two polls begin in one turn of the event loop, ${upstream}`, async t => {
    const allowances = createLocalAllowances()
    t.teardown(() => allowances.close())
    const rate = new PollRate({ allowance: allowances.open.bind(allowances), upstreams })
    let turn = 0
    let isOpen = true
    const count = (): void => {
      turn++
      if (isOpen) setImmediate(count)
    }
    count()
    const starts = await Promise.all(
      Array.from({ length: 5 }, () => rate.wait(upstream, STAY).then(() => turn)),
    )
    isOpen = false
    t.equal(new Set(starts).size, starts.length, starts.join(' '))
  })

/** An allowance whose window has nothing left. */
const EXHAUSTED: Allowance = {
  take: () => false,
  request: async () => false,
  retryAfter: () => 60_000,
  returnUnits() {},
  spend() {},
  reading: () => undefined,
}
for (const [what, allowance] of Object.entries({
  'that waits': EXHAUSTED,
  'whose primary does not answer': {
    ...EXHAUSTED,
    take: () => undefined,
    request: () => new Promise<boolean>(() => {}),
  },
}))
  t.test(`poll rate: a poll ${what} ends with its signal`, async t => {
    const rate = new PollRate({ allowance: () => allowance, upstreams })
    const closing = new AbortController()
    const poll = rate.wait('usual', closing.signal)
    await new Promise(resolve => setTimeout(resolve, 30))
    closing.abort()
    await t.rejects(poll, { name: 'AbortError' })
  })
