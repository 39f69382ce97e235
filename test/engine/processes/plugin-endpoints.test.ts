/** Asking a worker for an admin endpoint of a plugin: who is asked, and what happens when nobody answers. */
import t from 'tap'
import { Hearing } from '../../../engine/processes/message-waiter.ts'
import type { FromWorker, ToWorker } from '../../../engine/processes/messages.ts'
import { pluginEndpoints, stateOf } from '../../../engine/processes/plugin-endpoints.ts'
import type { Crew } from '../../../engine/processes/worker-pool.ts'
import { Health } from '../../../engine/upstream/health.ts'

const VIEW = { version: 1, hash: 'h', time: '', url: '', workers: [], failure: null }
const REQUEST = { method: 'GET', path: '/-/top', query: '', body: undefined }
/** A worker that remembers what it was sent. */
const worker = (open = true) => {
  const sent: Extract<ToWorker, { type: 'admin' }>[] = []
  const hearing = new Hearing<FromWorker>()
  const send = (message: ToWorker) => void (message.type === 'admin' && sent.push(message))
  return { open, hearing, sent, send }
}
const asking = (members: readonly object[], patience?: number) =>
  pluginEndpoints(
    { members } as unknown as Crew,
    () => ['GET /-/top'],
    () => VIEW,
    patience,
  )

t.test('plugin endpoints: the first worker that is open is asked, once', async t => {
  const [busy, first, second] = [worker(false), worker(), worker()]
  const reply = asking([busy, first, second]).ask(REQUEST)
  t.same(
    [busy, first, second].map(({ sent }) => sent.length),
    [0, 1, 0],
  )
  t.match(first.sent[0], { request: REQUEST, view: VIEW })
  first.hearing.said({ type: 'admin', id: 99, status: 200, body: '"of another question"' })
  first.hearing.said({ type: 'admin', id: first.sent[0]?.id ?? 0, status: 200, body: '[1]' })
  t.same(await reply, { status: 200, body: '[1]', type: 'application/json' })
})

t.test('plugin endpoints: no open worker is 503', async t => {
  t.match(await asking([worker(false)]).ask(REQUEST), { status: 503 })
  t.match(await asking([]).ask(REQUEST), { status: 503, body: { error: { code: 'NO_WORKER' } } })
})

t.test('plugin endpoints: a worker that does not answer in time is 504', async t => {
  const reply = await asking([worker()], 20).ask(REQUEST)
  t.match(reply, { status: 504, body: { error: { code: 'NO_ANSWER' } } })
})

t.test('an address: its state as operators read it', async t => {
  const health = new Health()
  t.equal(stateOf(health, 0), 'ready')
  health.rest(10)
  t.equal(stateOf(health, 5), 'paused', 'it asked for a pause')
  t.equal(stateOf(health, 10), 'ready')
  for (const at of [11, 12, 13]) health.recordFailure(at, { failures: 3, eject: 100 })
  t.equal(stateOf(health, 50), 'ejected')
  t.equal(stateOf(health, 113), 'probing', 'until a request succeeds')
  health.recordSuccess()
  t.equal(stateOf(health, 114), 'ready')
})
