/** The states of the end of a stream: how long the upstream may keep the connection open, and
 *  whether the client gets the end, an error event or an error response. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { errors } from '../../../../engine/errors.ts'
import type { Fault } from '../../../../engine/plugin.ts'
import { StreamEnd } from '../../../../plugins/formats/stream/stream-end.ts'
import { responseListener } from '../../../helpers/formats/response-listener.ts'

const fault = errors({ CUT: [502, 'cut'], LEFT: [499, 'left'] })

/** A stream's end, and what its listener and its client got, in order. Timers fire when the test
 *  moves the clock, until it ends: other files share the process. */
const observe = (t: Test) => {
  mock.timers.reset()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const calls: string[] = []
  const end = new StreamEnd(
    responseListener({
      onLinger: () => void calls.push('linger'),
      onUnanswered: () => void calls.push('unanswered'),
      onBroken: reason => void calls.push(`broken ${reason?.code}`),
    }),
  )
  const out = {
    write: (bytes: Uint8Array) => void calls.push(`write ${Buffer.from(bytes)}`),
    end: (tail?: Uint8Array, reason?: Fault) =>
      void calls.push(`end ${Buffer.from(tail ?? [])} ${reason?.code ?? 'whole'}`),
    fail: (reason: Fault) => void calls.push(`fail ${reason.code}`),
  }
  return { end, out, calls }
}
const BYTES = Buffer.from('a')

t.test('stream end: an upstream has 1 s after the end to close the connection', async t => {
  const { end, calls } = observe(t)
  end.reach('ended')
  mock.timers.tick(999)
  t.same(calls, [])
  mock.timers.tick(1)
  t.same(calls, ['linger'])
  t.equal(end.state, 'ended')
})
t.test('stream end: a pause of 5 s is the end', async t => {
  const { end, calls } = observe(t)
  end.reach('paused')
  mock.timers.tick(4_999)
  t.equal(end.state, 'paused')
  mock.timers.tick(1)
  t.equal(end.state, 'ended')
  t.same(calls, ['linger'])
})
t.test('stream end: each event that may be the last begins the pause again', async t => {
  const { end, calls } = observe(t)
  for (const _ of [1, 2, 3]) {
    end.reach('paused')
    mock.timers.tick(4_000)
    end.resume()
  }
  t.same(calls, [])
})
t.test('stream end: after data that follows the end, the wait goes on', async t => {
  const { end, calls } = observe(t)
  end.reach('paused')
  end.resume()
  mock.timers.tick(5_000)
  t.equal(end.state, 'open', 'the data may be an error')
  t.same(calls, ['linger'])
})
t.test('stream end: a complete or broken stream waits no more', async t => {
  for (const close of ['complete', 'break'] as const) {
    const { end, out, calls } = observe(t)
    end.hasContent = true
    end.reach('ended')
    if (close === 'complete') end.complete(out, () => BYTES)
    else end.break(fault('CUT'), out)
    mock.timers.tick(10_000)
    t.equal(end.state, 'closed')
    t.same(calls, [close === 'complete' ? 'end a whole' : 'fail CUT'])
  }
})
t.test('stream end: a break is an error response before the first byte, then an event', async t => {
  const first = observe(t)
  first.end.break(fault('CUT'), first.out)
  t.same(first.calls, ['fail CUT'])
  const later = observe(t)
  later.end.send(BYTES, later.out)
  later.end.break(fault('CUT'), later.out)
  t.same(later.calls, ['write a', 'unanswered', 'broken CUT', 'end cut CUT'])
})
t.test('stream end: an answer without content is unanswered, unless the client left', async t => {
  const empty = observe(t)
  empty.end.complete(empty.out, () => undefined)
  t.same(empty.calls, ['unanswered', 'end  whole'])
  const abandoned = observe(t)
  abandoned.end.send(BYTES, abandoned.out)
  abandoned.end.break(fault('LEFT'), abandoned.out)
  t.same(abandoned.calls, ['write a', 'broken LEFT', 'end left LEFT'])
})
t.test('stream end: an end that cannot be encoded breaks the stream', async t => {
  const { end, out, calls } = observe(t)
  end.hasContent = true
  end.complete(out, () => {
    throw fault('CUT')
  })
  t.same(calls, ['fail CUT'])
})
