/** Requests of tasks are apart from the rows that polls change, on both stores. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { splitTasks } from '../../../plugins/task/requests/upkeep.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { PRICE, startTasks, statesOf } from './task-gateway.ts'

const BYTES = Buffer.alloc(900_000, 7)
const IMAGE = `data:image/png;base64,${BYTES.toString('base64')}`
const DIGEST = createHash('sha256').update(BYTES).digest('hex')
const DESCRIBED = `data:image/png;size=900000;sha256=${DIGEST},`

for (const engine of ENGINES) {
  t.test(`task requests on ${engine}: an image is sent whole, and no row keeps it`, async t => {
    const gateway = await startTasks(t, engine)
    gateway.here.script = statesOf('queueing', 'processing', 'processing', 'success')
    const { json } = await gateway.create({ images: [IMAGE, 'https://files.example/a.png'] })
    t.same(json.images, [DESCRIBED, 'https://files.example/a.png'])
    const id = String(json.task_id)
    await gateway.reach(id, 'processing')
    const [row = {}] = await gateway.rows('SELECT * FROM tasks')
    const bytes = Object.values(row).reduce<number>((sum, each) => sum + String(each).length, 0)
    t.ok(bytes < 1_024, `a poll writes ${bytes} bytes`)
    const { json: list } = await gateway.call('GET', '/tasks')
    t.ok(JSON.stringify(list).length < 4_096)
    t.match(list, { tasks: [{ images: [DESCRIBED, 'https://files.example/a.png'] }] })
    await gateway.reach(id, 'success')
    const [submit] = gateway.requests
    t.same(submit?.body.images, [IMAGE, 'https://files.example/a.png'])
    t.same(await gateway.rows('SELECT task FROM task_request_parts'), [])
    t.equal(await gateway.spent(), PRICE)
    t.same(await gateway.findings(), [])
    if (engine === 'postgres') return
    const [longest] = await gateway.rows('SELECT max(length(rows)) AS bytes FROM tollgate_lists')
    t.ok(Number(longest?.bytes ?? 0) < 4_096, 'the store keeps no request for repetitions')
  })

  t.test(`task requests on ${engine}: a request waits until the upstream has it`, async t => {
    const gateway = await startTasks(t, engine)
    const normal = statesOf('success')
    gateway.here.script = (request, count) =>
      request.method === 'POST' && count < 3 ? { status: 429 } : normal(request, count)
    const { json } = await gateway.create({ images: [IMAGE] })
    await gateway.reach(String(json.task_id), 'success')
    const submits = gateway.requests.filter(({ method }) => method === 'POST')
    t.same(
      submits.map(({ body }) => body.images),
      [[IMAGE], [IMAGE], [IMAGE]],
    )
    t.same(await gateway.rows('SELECT task FROM task_request_parts'), [])
  })

  t.test(`task requests on ${engine}: a long text is echoed by a query alone`, async t => {
    const gateway = await startTasks(t, engine)
    const payload = 'é'.repeat(100_000)
    const { json } = await gateway.create({ payload })
    const done = await gateway.reach(String(json.task_id), 'success')
    t.equal(done.payload, payload)
    t.equal(gateway.requests[0]?.body.payload, payload)
    const { json: list } = await gateway.call('GET', '/tasks')
    t.ok(JSON.stringify(list).length < 4_096)
  })

  t.test(`task requests on ${engine}: those of an earlier version leave their rows`, async t => {
    const gateway = await startTasks(t, engine)
    const normal = statesOf('success')
    let isBusy = true
    gateway.here.script = (request, count) =>
      isBusy && request.method === 'POST' ? { status: 429 } : normal(request, count)
    const id = String((await gateway.create()).json.task_id)
    await eventually(async () =>
      (await gateway.rows("SELECT id FROM tasks WHERE state = 'accepted' AND failures > 0")).at(0),
    )
    const body = JSON.stringify({ model: 'clip', duration: 5, images: [IMAGE] })
    await gateway.change(`UPDATE tasks SET body = '${body}'`)
    await gateway.change('DELETE FROM task_requests')
    await gateway.change(`INSERT INTO tasks_unsplit VALUES ('${id}'), ('918000000000000009')`)
    const { json: list } = await gateway.call('GET', '/tasks')
    t.ok(JSON.stringify(list).length < 4_096, 'a list shows no image before')
    await splitTasks(gateway.database)
    t.same(await gateway.rows('SELECT id FROM tasks_unsplit'), [])
    t.same(await gateway.rows('SELECT body FROM tasks'), [{ body: '' }])
    isBusy = false
    await gateway.reach(id, 'success')
    t.same(gateway.requests.findLast(({ method }) => method === 'POST')?.body.images, [IMAGE])
    t.equal(await gateway.spent(), PRICE)
  })
}

const BROKEN = ['data:image/png;base64,***', 'data:image/jpeg;base64,', 'data:;base64,abcde']
for (const image of BROKEN)
  t.test(`task requests: ${image} is refused before anything is held or sent`, async t => {
    const gateway = await startTasks(t)
    for (const [at, body] of [
      ['images[1]', { images: [IMAGE, image] }],
      ['subjects[0].images[0]', { subjects: [{ images: [image] }] }],
    ] as const) {
      const { status, json } = await gateway.create(body)
      t.match({ status, json }, { status: 400, json: { reason: 'FieldInvalid' } })
      t.ok(String(json.message).startsWith(`invalid field: ${at}`), String(json.message))
    }
    t.same(await gateway.rows('SELECT id FROM tasks'), [])
    t.same([await gateway.spent(), await gateway.findings()], [0n, []])
    t.same(gateway.requests, [])
    const { status } = await gateway.create({ prompt: 'data: a cat', payload: image.slice(0, 10) })
    t.equal(status, 200, 'a text that begins like one is none')
  })
