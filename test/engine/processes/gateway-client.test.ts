/** Calls of `host.gateway` in a worker: results, errors, timeouts, and a primary that ended. */
import t from 'tap'
import { createGatewayClient } from '../../../engine/processes/gateway/client.ts'
import { answerCall } from '../../../engine/processes/gateway/operations.ts'
import type { FromWorker } from '../../../engine/processes/messages.ts'

type CallMessage = Extract<FromWorker, { readonly type: 'gateway' }>
const TIMES = {
  status: 20,
  readings: 20,
  history: 20,
  files: 20,
  diff: 20,
  check: 20,
  save: 20,
  edit: 20,
  schema: 20,
  reload: 20,
  rollback: 20,
}
const clientOf = (isConnected = true) => {
  const messages: CallMessage[] = []
  const client = createGatewayClient(message => {
    messages.push(message)
    return isConnected
  }, TIMES)
  return { messages, client }
}

t.test('gateway client: each result settles its own call', async t => {
  const { messages, client } = clientOf()
  const [first, second] = [client.files(1), client.files(2)]
  const [one, two] = messages
  client.onResult({ id: two?.id ?? 0, result: { a: 'two' } })
  client.onResult({ id: one?.id ?? 0, error: { code: 'NO_VERSION', status: 404, message: 'none' } })
  t.same(await second, { a: 'two' })
  await t.rejects(first, { code: 'NO_VERSION', status: 404, message: 'none' })
})

t.test('gateway client: a call without a result, or a primary, rejects', async t => {
  const { messages, client } = clientOf()
  await t.rejects(client.status(), { code: 'GATEWAY_TIMEOUT', status: 504, message: /status/ })
  t.doesNotThrow(() => client.onResult({ id: messages[0]?.id ?? 0, result: {} }), 'a late result')
  await t.rejects(clientOf(false).client.reload(), { code: 'GATEWAY_LOST', status: 503 })
})

t.test('gateway operations: a call before the gateway serves is refused', async t => {
  const result = await answerCall(undefined, 7, { name: 'status' })
  t.match(result, { id: 7, error: { code: 'NO_GATEWAY', status: 503 } })
})
