/** Batches over real stores: their results, counters and money. */
import t from 'tap'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { CHAT, type Fields, linesWith, PRICE, startBatches } from './batches-gateway.ts'

for (const engine of ENGINES)
  t.test(`batch (${engine}): its lines are run, charged and put into one file`, async t => {
    const gateway = await startBatches(t, engine)
    const ids = Array.from({ length: 40 }, (_, at) => `line-${at}`)
    const id = await gateway.start(await gateway.upload(linesWith(...ids)))
    const batch = await gateway.end(id)
    t.match(batch, { status: 'completed', request_counts: { total: 40, completed: 40, failed: 0 } })
    const lines = await gateway.linesOf(batch.output_file_id)
    t.same(
      lines.map(line => line.custom_id),
      ids,
    )
    t.same(await gateway.money(), { spent: 40 * PRICE, held: 0 })
    await eventually(async () => {
      const rows = await gateway.rows('SELECT line FROM batch_lines')
      return rows.length === 0 ? true : undefined
    })
    t.same(await gateway.findings(), [])
  })

for (const engine of ENGINES)
  t.test(`batch (${engine}): its counters follow its lines in the same transaction`, async t => {
    const gateway = await startBatches(t, engine, { concurrency: 4 })
    let finish: () => void = () => {}
    const gate = new Promise<void>(resolve => {
      finish = resolve
    })
    gateway.upstream.script = async count => {
      if (count > 10) await gate
      return count % 5 === 0
        ? { status: 400, json: { error: { message: 'no' } } }
        : { json: chatAnswer() }
    }
    const ids = Array.from({ length: 20 }, (_, at) => `line-${at}`)
    const id = await gateway.start(await gateway.upload(linesWith(...ids)))
    const compare = async () => {
      const [row = {}] = await gateway.rows(`SELECT completed, failed,
        (SELECT count(*) FROM batch_lines WHERE batch = batches.id AND ok = 1) AS ok_lines,
        (SELECT count(*) FROM batch_lines WHERE batch = batches.id AND ok = 0) AS failed_lines
        FROM batches`)
      t.equal(Number(row.completed), Number(row.ok_lines))
      t.equal(Number(row.failed), Number(row.failed_lines))
      return Number(row.completed) + Number(row.failed)
    }
    await eventually(async () => ((await compare()) >= 10 ? true : undefined))
    const { text } = await gateway.send('GET', `/v1/batches/${id}`)
    t.match(JSON.parse(text), {
      status: 'in_progress',
      request_counts: { total: 20, completed: 8, failed: 2 },
    })
    finish()
    t.match(await gateway.end(id), { request_counts: { total: 20, completed: 16, failed: 4 } })
  })

for (const engine of ENGINES)
  t.test(`batch (${engine}): lines that the account can never pay fail at once`, async t => {
    const gateway = await startBatches(t, engine)
    const poor = { account: '2' }
    const form = new FormData()
    form.append('purpose', 'batch')
    const lines = linesWith(...Array.from({ length: 100 }, (_, at) => `line-${at}`))
    form.append('file', new Blob([lines.map(line => JSON.stringify(line)).join('\n')]), 'a.jsonl')
    const url = `${gateway.url}/v1/files`
    const upload = await fetch(url, { method: 'POST', headers: poor, body: form })
    const { id: input_file_id } = (await upload.json()) as { id: string }
    const body = { input_file_id, endpoint: CHAT, completion_window: '24h' }
    const { id } = JSON.parse((await gateway.send('POST', '/v1/batches', poor, body)).text)
    const batch = await eventually(async () => {
      const { text } = await gateway.send('GET', `/v1/batches/${id}`, poor)
      const latest = JSON.parse(text) as Fields
      return latest.status === 'completed' ? latest : undefined
    })
    t.match(batch, { request_counts: { total: 100, completed: 0, failed: 100 } })
    t.same(gateway.upstream.bodies, [])
  })
