/** Calls that run as tasks: `Prefer: respond-async` on a route with `task: { call: … }`. */
import t from 'tap'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { CHAT, startCalls } from './calls-gateway.ts'

/** Nanos: ten tokens in, five out. */
const PRICE = 20_000

for (const engine of ENGINES)
  t.test(`call as a task (${engine}): it is answered at once and charged once`, async t => {
    const gateway = await startCalls(t, engine)
    let finish: () => void = () => {}
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    gateway.upstream.script = async () => {
      await finished
      return { json: chatAnswer() }
    }
    const created = await gateway.ask()
    t.equal(created.status, 202)
    t.equal(created.headers.get('preference-applied'), 'respond-async')
    const location = created.headers.get('location')
    const { id, ...status } = JSON.parse(created.text)
    t.equal(location, `${CHAT}/${id}`)
    t.match(status, { object: 'task', status: 'queued', model: 'talk', created_at: Number })
    const money = await gateway.money()
    t.ok(money.spent === 0 && money.held > PRICE, `${money.held} nanos are held`)
    const pending = await gateway.send('GET', String(location))
    t.equal(pending.status, 202)
    t.equal((await gateway.send('GET', String(location), { account: '2' })).status, 404)
    finish()
    const result = await gateway.result(location)
    t.equal(result.status, 200)
    t.match(JSON.parse(result.text), { choices: [{ message: { content: 'Good day.' } }] })
    t.match(gateway.upstream.bodies, [{ model: 'talker', messages: [{ content: 'Hello' }] }])
    t.same(await gateway.money(), { spent: PRICE, held: 0 })
    const receipt = await gateway.send('GET', `/usage/${id}`)
    t.match(JSON.parse(receipt.text), { data: { model: 'talk' } })
    t.same(await gateway.findings(), [])
  })

t.test('call as a task: clients decide whether a call is one', async t => {
  const gateway = await startCalls(t)
  const plain = await gateway.ask({ prefer: 'return=minimal' })
  t.match(plain, { status: 200, text: /Good day/ })
  const waited = await gateway.ask({ prefer: 'respond-async, wait=20' })
  t.match(waited, { status: 200, text: /Good day/ }, 'the result came within the wait')
  const upstreamStream = gateway.ask({}, { stream: true })
  t.not((await upstreamStream).status, 202, 'a stream is not a task')
})

t.test('call as a task: it carries the stored files that it names', async t => {
  const gateway = await startCalls(t)
  const png = Buffer.from('89504e470d0a1a0a', 'hex')
  const form = new FormData()
  form.append('purpose', 'vision')
  form.append('file', new Blob([png]), 'a.png')
  const upload = await fetch(`${gateway.url}/v1/files`, { method: 'POST', body: form })
  const { id } = (await upload.json()) as { readonly id: string }
  const content = (url: string) => [{ type: 'image_url', image_url: { url } }]
  const created = await gateway.ask({}, { messages: [{ role: 'user', content: content(id) }] })
  t.equal(created.status, 202)
  t.equal((await gateway.result(created.headers.get('location'))).status, 200)
  const inline = content(`data:image/png;base64,${png.toString('base64')}`)
  t.match(gateway.upstream.bodies, [{ messages: [{ content: inline }] }])
})

t.test('call as a task: a route can make every call one', async t => {
  const gateway = await startCalls(t, 'sqlite', { when: 'always' })
  const created = await gateway.ask({ prefer: '' })
  t.equal(created.status, 202)
  t.equal((await gateway.result(created.headers.get('location'))).status, 200)
})

t.test('call as a task: an answer without counts is estimated', async t => {
  const gateway = await startCalls(t)
  gateway.upstream.script = () => ({ json: chatAnswer(null) })
  const created = await gateway.ask()
  await gateway.result(created.headers.get('location'))
  const { spent } = await gateway.money()
  t.ok(spent > 0)
  t.match(await gateway.rows('SELECT estimated FROM charges'), [{ estimated: 1 }])
})

t.test('call as a task: waits while the upstream limits our account', async t => {
  const gateway = await startCalls(t)
  const limit = { error: { message: 'You exceeded your current quota, please check your plan.' } }
  gateway.upstream.script = count =>
    count === 1 ? { status: 429, json: limit } : { json: chatAnswer() }
  const created = await gateway.ask()
  const result = await gateway.result(created.headers.get('location'))
  t.match(result, { status: 200, text: /Good day/ })
  t.equal(gateway.upstream.bodies.length, 2)
  t.same(await gateway.findings(), [])
})

t.test('call as a task: what fails keeps its status and costs nothing', async t => {
  const gateway = await startCalls(t)
  const resultOf = async () => gateway.result((await gateway.ask()).headers.get('location'))
  const refusal = { error: { message: 'no such voice', type: 'invalid_request_error' } }
  gateway.upstream.script = () => ({ status: 400, json: refusal })
  t.match(await resultOf(), { status: 400, text: /no such voice/ })
  gateway.upstream.script = () => ({ cut: true })
  const cutAnswer = await resultOf()
  t.equal(cutAnswer.status, 502)
  t.match(JSON.parse(cutAnswer.text), { error: { message: String, type: String } })
  t.equal(gateway.upstream.bodies.length, 2, 'a lost answer is not asked for again')
  t.same(await gateway.money(), { spent: 0, held: 0 })
  t.same(await gateway.findings(), [])
})

t.test('call as a task: a busy upstream is asked again', async t => {
  const gateway = await startCalls(t)
  gateway.upstream.script = count => (count < 2 ? { status: 429 } : { json: chatAnswer() })
  const created = await gateway.ask()
  t.equal((await gateway.result(created.headers.get('location'))).status, 200)
  t.equal(gateway.upstream.bodies.length, 2)
  t.same(await gateway.money(), { spent: PRICE, held: 0 })
})

t.test('call as a task: a lost answer is asked for again as often as the route says', async t => {
  const gateway = await startCalls(t, 'sqlite', { call: { attempts: 3 } })
  gateway.upstream.script = count => (count < 3 ? { cut: true } : { json: chatAnswer() })
  const created = await gateway.ask()
  t.equal((await gateway.result(created.headers.get('location'))).status, 200)
  t.equal(gateway.upstream.bodies.length, 3)
  t.same(await gateway.money(), { spent: PRICE, held: 0 })
})

t.test('call as a task: one whose process died fails, or is sent again', async t => {
  const gateway = await startCalls(t)
  gateway.upstream.script = () => new Promise(() => {})
  const created = await gateway.ask()
  const { id } = JSON.parse(created.text)
  await gateway.change(`UPDATE tasks SET state = 'submitting', attempts = 1, process = NULL
    WHERE id = '${id}'`)
  const result = await gateway.result(created.headers.get('location'))
  t.match(result, { status: 500, text: /the process that ran this call has ended/ })
  t.same(await gateway.money(), { spent: 0, held: 0 })
})

t.test('call as a task: too large an answer and a late one fail', async t => {
  const gateway = await startCalls(t, 'sqlite', { call: { largest: '1KiB', deadline: '1s' } })
  gateway.upstream.script = () => ({
    json: { ...(chatAnswer() as object), pad: 'x'.repeat(2_000) },
  })
  const large = await gateway.ask()
  const { status } = await gateway.result(large.headers.get('location'))
  t.ok(status >= 500, `a large answer: ${status}`)
  gateway.upstream.script = () => new Promise(() => {})
  const late = await gateway.ask()
  t.match(await gateway.result(late.headers.get('location')), {
    status: 504,
    text: /did not finish in time/,
  })
  t.same(await gateway.money(), { spent: 0, held: 0 })
})

t.test('call as a task: refusals come at once', async t => {
  const gateway = await startCalls(t, 'sqlite', { open: 1 })
  let finish: () => void = () => {}
  gateway.upstream.script = () =>
    new Promise(resolve => {
      finish = () => resolve({ cut: true })
    })
  t.equal((await gateway.ask({ account: '2' })).status, 403, 'no balance')
  t.equal((await gateway.ask()).status, 202)
  t.match(await gateway.ask(), { status: 429, text: /1 unfinished tasks/ })
  const unknown = await gateway.send('GET', `${CHAT}/123`)
  t.match(unknown, { status: 404, text: /no task with the id/ })
  // The gateway waits for its calls before it ends.
  await eventually(async () => (gateway.upstream.bodies.length > 0 ? true : undefined))
  finish()
})

t.test('call as a task: a repeated Idempotency-Key gets the same task', async t => {
  const gateway = await startCalls(t)
  const one = await gateway.ask({ 'idempotency-key': 'k1' })
  const two = await gateway.ask({ 'idempotency-key': 'k1' })
  t.equal(two.text, one.text)
  t.equal(two.headers.get('location'), one.headers.get('location'))
  await gateway.result(one.headers.get('location'))
  t.equal(gateway.upstream.bodies.length, 1)
})
