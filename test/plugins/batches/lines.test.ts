/** Lines of batches that cannot be run, and batches of other accounts. */
import t from 'tap'
import batches from '../../../plugins/batches/index.ts'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { type Fields, linesWith, PRICE, startBatches } from './batches-gateway.ts'

t.test(
  'batch: lines wait for money that others hold, and are paid when those have ended',
  async t => {
    const gateway = await startBatches(t)
    // More than one line may cost, less than two.
    await gateway.change(
      'UPDATE wallets SET balance = 150000 WHERE id = (SELECT max(id) FROM wallets WHERE account = 1)',
    )
    const waiting = Promise.withResolvers<void>()
    gateway.upstream.script = async () => {
      await waiting.promise
      return { json: chatAnswer() }
    }
    const id = await gateway.start(await gateway.upload(linesWith('a', 'b', 'c')))
    await eventually(async () => {
      const rows = await gateway.rows('SELECT line FROM batch_lines WHERE waits > 0')
      return rows.length === 2 ? true : undefined
    })
    t.equal(gateway.upstream.bodies.length, 1)
    waiting.resolve()
    t.match(await gateway.end(id), { request_counts: { total: 3, completed: 3, failed: 0 } })
  },
)

t.test('batch: what is not run by its end is reported as expired', async t => {
  const gateway = await startBatches(t, 'sqlite', { concurrency: 1 })
  let finish: () => void = () => {}
  gateway.upstream.script = count =>
    count === 1
      ? { json: chatAnswer() }
      : new Promise(resolve => {
          finish = () => resolve({ json: chatAnswer() })
        })
  const id = await gateway.start(await gateway.upload(linesWith('a', 'b', 'c')))
  await eventually(async () => (gateway.upstream.bodies.length > 1 ? true : undefined))
  const [started] = await gateway.rows('SELECT times FROM batches')
  await gateway.change('UPDATE batches SET expires = 1')
  const expired = await eventually(async () => {
    const [row] = await gateway.rows("SELECT times FROM batches WHERE ending = 'expired'")
    return row
  })
  t.same(expired, started, 'it has run since it began, not since it expired')
  finish()
  const batch = await gateway.end(id)
  t.match(batch, { status: 'expired', request_counts: { total: 3, completed: 2, failed: 1 } })
  t.match(await gateway.linesOf(batch.error_file_id), [
    { custom_id: 'c', response: null, error: { code: 'batch_expired' } },
  ])
})

t.test('batch: a line whose answer is lost again and again fails, and costs nothing', async t => {
  const gateway = await startBatches(t)
  gateway.upstream.script = () => ({ cut: true })
  const id = await gateway.start(await gateway.upload(linesWith('a')))
  await eventually(async () => (gateway.upstream.bodies.length > 0 ? true : undefined))
  // As if the processes that ran it had died.
  await eventually(async () => {
    await gateway.change(
      'UPDATE batch_lines SET attempts = 3, due = 1 WHERE process IS NULL AND due > 1',
    )
    const { status } = JSON.parse((await gateway.send('GET', `/v1/batches/${id}`)).text)
    return status === 'completed' ? true : undefined
  })
  const batch = await gateway.end(id)
  t.match(batch, { request_counts: { completed: 0, failed: 1 }, output_file_id: null })
  t.match(await gateway.linesOf(batch.error_file_id), [
    { custom_id: 'a', error: { code: 'server_error' } },
  ])
  t.same(await gateway.money(), { spent: 0, held: 0 })
})

t.test('batch: lines of a deleted input file fail with the reason', async t => {
  const gateway = await startBatches(t, 'sqlite', { concurrency: 1 })
  let finish: () => void = () => {}
  gateway.upstream.script = () =>
    new Promise(resolve => {
      finish = () => resolve({ json: chatAnswer() })
    })
  const file = await gateway.upload(linesWith('a', 'b'))
  const id = await gateway.start(file)
  await eventually(async () => (gateway.upstream.bodies.length > 0 ? true : undefined))
  t.equal((await gateway.send('DELETE', `/v1/files/${file}`)).status, 200)
  finish()
  const batch = await gateway.end(id)
  t.match(batch, { status: 'completed', request_counts: { completed: 1, failed: 1 } })
  t.match(await gateway.linesOf(batch.error_file_id), [
    {
      custom_id: 'b',
      response: { status_code: 404, body: { error: { message: /No such File/ } } },
    },
  ])
})

t.test('batch: one of another account cannot be read or cancelled', async t => {
  const gateway = await startBatches(t)
  const id = await gateway.start(await gateway.upload(linesWith('a')))
  const other = { account: '2' }
  t.equal((await gateway.send('GET', `/v1/batches/${id}`, other)).status, 404)
  t.equal((await gateway.send('POST', `/v1/batches/${id}/cancel`, other)).status, 404)
  await gateway.end(id)
})

t.test('batch: an answer whose outcome cannot be stored is not charged', async t => {
  const gateway = await startBatches(t, 'sqlite', { concurrency: 1 })
  gateway.upstream.script = async count => {
    // Another process takes the line of the batch meanwhile.
    if (count === 1) await gateway.change('UPDATE batch_lines SET process = NULL')
    return { json: chatAnswer() }
  }
  const id = await gateway.start(await gateway.upload(linesWith('a')))
  t.match(await gateway.end(id), { request_counts: { completed: 1, failed: 0 } })
  t.equal(gateway.upstream.bodies.length, 2)
  t.same(await gateway.money(), { spent: PRICE, held: 0 })
  t.same(await gateway.findings(), [])
})

t.test('batch: an answer above the size limit fails once, and costs nothing', async t => {
  const gateway = await startBatches(t)
  const content = 'x'.repeat(17 * 2 ** 20)
  gateway.upstream.script = () => ({ json: { ...(chatAnswer() as object), pad: content } })
  const id = await gateway.start(await gateway.upload(linesWith('a')))
  t.match(await gateway.end(id), { request_counts: { completed: 0, failed: 1 } })
  t.equal(gateway.upstream.bodies.length, 1)
  t.same(await gateway.money(), { spent: 0, held: 0 })
})

t.test('batch: lines wait for the money that other lines of it hold', async t => {
  const gateway = await startBatches(t, 'sqlite', { concurrency: 8 })
  // The hold of a line is several times its price: the money is enough for all, not at once.
  await gateway.change('UPDATE wallets SET balance = 600000, reserved = 0 WHERE balance > 600000')
  const ids = Array.from({ length: 20 }, (_, at) => `m${at}`)
  const id = await gateway.start(await gateway.upload(linesWith(...ids)))
  t.match(await gateway.end(id), { request_counts: { completed: 20, failed: 0 } })
})

t.test('batch: one whose file is gone before it was read fails with the reason', async t => {
  const gateway = await startBatches(t)
  let finish: () => void = () => {}
  gateway.upstream.script = () =>
    new Promise(resolve => {
      finish = () => resolve({ json: chatAnswer() })
    })
  const id = await gateway.start(await gateway.upload(linesWith('a')))
  await eventually(() => gateway.upstream.bodies.length > 0)
  t.teardown(() => finish())
  await gateway.change(`UPDATE batches SET state = 'validating', input_file = 'file-gone'`)
  await gateway.change('DELETE FROM batch_lines')
  t.match(await gateway.end(id), {
    status: 'failed',
    errors: { data: [{ code: 'input_file_missing', line: null }] },
  })
})

t.test('batch: tollgate check reports a price with too many places', async t => {
  const problems: string[] = []
  const check = (price: unknown) =>
    batches.check({ settings: { batch: { price } } } as never, (where, code) =>
      problems.push(`${where.join('.')} ${code}`),
    )
  check(0.5)
  check('0.25')
  check(1e-12)
  t.same(problems, ['settings.batch.price PRICE_AMOUNT'])
})

for (const engine of ENGINES)
  t.test(`${engine}: batches of files and of messages are listed apart`, async t => {
    const { send, upload, start } = await startBatches(t, engine)
    const body = { bytes: 5, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' }
    const upload5 = JSON.parse((await send('POST', '/v1/uploads', {}, body)).text)
    const cancelled = await send('POST', `/v1/uploads/${upload5.id}/cancel`, {}, {})
    t.match(JSON.parse(cancelled.text), { status: 'cancelled' })
    const file = await upload([{ custom_id: 'a' }])
    t.match(JSON.parse((await send('GET', '/v1/files')).text), { data: [{ id: file }] })
    const id = await start(file)
    const requests = ['a', 'b'].map(custom_id => ({ custom_id, params: { model: 'm' } }))
    const ids: string[] = []
    for (const each of requests) {
      const created = await send('POST', '/v1/messages/batches', {}, { requests: [each] })
      ids.unshift(JSON.parse(created.text).id)
    }
    const list = async (path: string): Promise<readonly string[]> =>
      JSON.parse((await send('GET', path)).text).data.map((each: Fields) => each.id)
    t.same(await list('/v1/batches'), [id])
    t.same(await list('/v1/messages/batches'), ids)
    t.same(await list(`/v1/messages/batches?after_id=${ids[0]}`), [ids[1]])
    t.same(await list(`/v1/messages/batches?before_id=${ids[1]}`), [ids[0]])
  })
