/** Lines of batches as calls: a failed line is one failed call that its customer finds, and all
 *  lines are in the sums of calls. */
import t from 'tap'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { CHAT, type Fields, linesWith, PRICE, startBatches } from './batches-gateway.ts'

const DAY = 86_400_000
const SECRET = 'sk-live0123456789abcdef'

for (const engine of ENGINES)
  t.test(`batch: each failed line is one failed call (${engine})`, async t => {
    const gateway = await startBatches(t, engine, { concurrency: 1 })
    const { upstream } = gateway
    upstream.script = count =>
      count === 1
        ? { json: chatAnswer() }
        : { status: 400, json: { error: { message: `no voice for ${SECRET}` } } }
    const unknown = { ...linesWith('c')[0], body: { model: 'nothing', messages: [] } }
    const lines = [...linesWith('a', 'b'), unknown]
    const batch = await gateway.end(await gateway.start(await gateway.upload(lines)))
    t.match(batch, { request_counts: { completed: 1, failed: 2 } })
    const failed = async () =>
      JSON.parse((await gateway.send('GET', '/api/usage?status=failed')).text).data
    const rows = await eventually(async () => {
      const list = await failed()
      return list.length >= 2 ? list : undefined
    })
    const errors = await gateway.linesOf(batch.error_file_id)
    const requestOf = (id: string) => {
      const line = errors.find(({ custom_id }) => custom_id === id) as never
      return (line as { response: { request_id: string } }).response.request_id
    }
    t.equal(rows.length, 2)
    const byRequest = (id: string) =>
      rows.find(({ request_id }: Fields) => request_id === requestOf(id))
    t.match(byRequest('b'), {
      status: 400,
      code: 'UPSTREAM_REFUSED',
      message: 'no voice for [hidden]',
      model: 'talk',
      cost: 0,
    })
    t.match(byRequest('c'), { status: 404, code: /^MODEL_/, message: /nothing/, model: 'nothing' })
    const stored = await gateway.rows('SELECT attempts FROM failed_calls WHERE status = 400')
    t.match(JSON.parse(String(stored[0]?.attempts)), [{ upstream: 'up', result: 400 }])
    const sums = await eventually(async () => {
      const [row] = await gateway.rows(
        `SELECT calls, failed, amount, input, output FROM call_sums WHERE span = ${DAY}`,
      )
      return row
    })
    t.match(sums, { calls: 2, failed: 1, amount: PRICE, input: 10, output: 5 })
    const times = await gateway.rows('SELECT * FROM call_times')
    const [{ day, account, key, model, failed: ofCaller, ...latencies } = {}] = times
    t.equal(times.length, 1)
    t.equal(Number(ofCaller), 1)
    t.ok(Object.values(latencies).length > 0)
    t.ok(Object.values(latencies).every(count => Number(count) === 0))
  })

t.test('batch: a failed attempt at a line that succeeds later is not a failed call', async t => {
  const gateway = await startBatches(t)
  gateway.upstream.script = count =>
    count === 1 ? { status: 500, json: { error: { message: 'no' } } } : { json: chatAnswer() }
  const batch = await gateway.end(await gateway.start(await gateway.upload(linesWith('a'))))
  t.match(batch, { endpoint: CHAT, request_counts: { completed: 1, failed: 0 } })
  await gateway.send('POST', CHAT, {}, { model: 'nothing', messages: [] })
  const rows = await eventually(async () => {
    const list = await gateway.rows('SELECT code FROM failed_calls')
    return list.length > 0 ? list : undefined
  })
  t.match(rows, [{ code: /^MODEL_/ }], 'the call after it')
})
