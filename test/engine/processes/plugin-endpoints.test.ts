/** Plugin endpoints: choice of the worker, and errors when no worker replies. */
import t from 'tap'
import { TollgateError } from '../../../engine/errors.ts'
import type { Log } from '../../../engine/plugin.ts'
import { stateOf } from '../../../engine/processes/gateway/health.ts'
import { MessageWaiter } from '../../../engine/processes/message-waiter.ts'
import type { FromWorker, ToWorker } from '../../../engine/processes/messages.ts'
import {
  createPluginEndpoints,
  createWorkerCalls,
  runAdminEndpoint,
  runAuthorization,
} from '../../../engine/processes/plugin-endpoints.ts'
import type { WorkerPool } from '../../../engine/processes/worker-pool.ts'
import type { Snapshot } from '../../../engine/snapshot/snapshot.ts'
import { Health } from '../../../engine/upstream/health.ts'

const VIEW = { version: 1, hash: 'h', time: '', url: '', workers: [], unready: [], failure: null }
const REQUEST = { method: 'GET', path: '/-/top', query: '', body: undefined }
/** A worker that records the requests it receives. */
const worker = (open = true) => {
  const requests: Extract<ToWorker, { type: 'admin' }>[] = []
  const messages = new MessageWaiter<FromWorker>()
  const send = (message: ToWorker) => void (message.type === 'admin' && requests.push(message))
  return { open, messages, requests, send }
}
const endpointsOf = (workers: readonly object[], timeout?: number) =>
  createPluginEndpoints(
    createWorkerCalls({ workers } as unknown as WorkerPool, timeout),
    () => ['GET /-/top'],
    () => VIEW,
  )

t.test('plugin endpoints: one request goes to the first open worker', async t => {
  const [busy, first, second] = [worker(false), worker(), worker()]
  const reply = endpointsOf([busy, first, second]).send(REQUEST)
  t.same(
    [busy, first, second].map(({ requests }) => requests.length),
    [0, 1, 0],
  )
  t.match(first.requests[0], { request: REQUEST, view: VIEW })
  first.messages.deliver({ type: 'admin', id: 99, status: 200, body: '"of another request"' })
  first.messages.deliver({
    type: 'admin',
    id: first.requests[0]?.id ?? 0,
    status: 200,
    body: '[1]',
  })
  t.same(await reply, { status: 200, body: '[1]', type: 'application/json' })
})

t.test('plugin endpoints: reply with 503 while no worker is open', async t => {
  t.match(await endpointsOf([worker(false)]).send(REQUEST), { status: 503 })
  t.match(await endpointsOf([]).send(REQUEST), {
    status: 503,
    body: { error: { code: 'NO_WORKER' } },
  })
})

t.test('plugin endpoints: reply with 504 if the worker does not reply in time', async t => {
  const reply = await endpointsOf([worker()], 20).send(REQUEST)
  t.match(reply, { status: 504, body: { error: { code: 'NO_ANSWER' } } })
})

t.test('plugin endpoints: an upstream address is ready, paused, ejected or probing', async t => {
  const health = new Health()
  t.equal(stateOf(health, 0), 'ready')
  health.rest(10, 0)
  t.equal(stateOf(health, 5), 'paused', 'the upstream asked for a pause')
  t.equal(stateOf(health, 10), 'ready')
  for (const at of [11, 12, 13]) health.recordFailure(at, { failures: 3, eject: 100 })
  t.equal(stateOf(health, 50), 'ejected')
  t.equal(stateOf(health, 113), 'probing', 'until a request succeeds')
  health.recordSuccess(114)
  t.equal(stateOf(health, 114), 'ready')
})

t.test('plugin endpoints: reply with 503 if the worker ends before it replies', async t => {
  const ending = worker()
  const reply = endpointsOf([ending]).send(REQUEST)
  ending.messages.close()
  t.match(await reply, { status: 503, body: { error: { code: 'WORKER_ENDED' } } })
})

t.test('plugin endpoints: unknown endpoints, refusals and errors of a plugin', async t => {
  const errors: object[] = []
  const log = { error: (fields: object) => void errors.push(fields) } as unknown as Log
  const answers: Readonly<Record<string, () => unknown>> = {
    'GET /-/top': () => undefined,
    'GET /-/refuses': () => {
      throw new TollgateError('TOO_EARLY', 425, 'not yet')
    },
    'GET /-/throws': () => {
      throw new Error('a secret')
    },
  }
  const endpoints = new Map(
    Object.entries(answers).map(([name, answer]) => [name, { plugin: 'mine', answer }]),
  )
  let retained = 0
  const empty = { routes: [], upstreams: new Map() }
  const admin = { endpoints, authorize: undefined }
  const snapshot = { ...empty, admin, retain: () => retained++, release: () => retained-- }
  const run = async (path: string) => {
    const call = { id: 1, request: { ...REQUEST, path }, view: VIEW }
    const { status, body } = await runAdminEndpoint(snapshot as unknown as Snapshot, call, log)
    return { status, body: JSON.parse(String(body)) }
  }
  t.same(await run('/-/top'), { status: 200, body: null })
  t.match(await run('/-/none'), { status: 404, body: { error: { code: 'NO_ENDPOINT' } } })
  t.match(await run('/-/refuses'), {
    status: 425,
    body: { error: { code: 'TOO_EARLY', message: 'not yet' } },
  })
  const failure = await run('/-/throws')
  t.match(failure, { status: 500, body: { error: { code: 'ENDPOINT_THREW' } } })
  t.notMatch(JSON.stringify(failure), /secret/)
  t.match(errors, [{ plugin: 'mine', endpoint: 'GET /-/throws' }])
  t.equal(retained, 0)
})

t.test('authorization: refuses without a plugin, and hides the error of one', async t => {
  const errors: object[] = []
  const log = { error: (fields: object) => void errors.push(fields) } as unknown as Log
  const credential = { authorization: 'Bearer x', address: '127.0.0.1' }
  const run = (authorize: unknown) => {
    const admin = { endpoints: new Map(), authorize }
    const snapshot = { admin, retain: () => {}, release: () => {} } as unknown as Snapshot
    return runAuthorization(snapshot, credential, log)
  }
  t.match(await run(undefined), {
    refusal: { status: 401, body: { error: { code: 'NO_AUTHORIZER' } } },
  })
  const threw = await run(async () => {
    throw new Error('a secret')
  })
  t.match(threw, { refusal: { status: 503 } })
  t.notMatch(JSON.stringify(threw), /secret/)
  t.equal(errors.length, 1)
  t.same(await run(async () => ({ id: 1, name: 'ann', role: 'admin' })), {
    operator: { id: 1, name: 'ann' },
  })
})
