/** Creates that wait for the end of their task, with an Idempotency-Key: the task begins before the
 *  answer, so a repetition gets it at any time, and never makes another. */
import t, { type Test } from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'
import { CHAT, startCalls } from './calls-gateway.ts'
import { creationsOf, KEY, PRICE, startTasks } from './task-gateway.ts'

const HEADERS = {
  'content-type': 'application/json',
  authorization: `Bearer ${KEY}`,
  'idempotency-key': 'order-7',
}

/** Tasks of a create that waits; they end when `finish` is called. */
const startAwaited = async (t: Test, engine: Engine) => {
  const gateway = await startTasks(t, engine, { wait: '30s' })
  const submitted = Promise.withResolvers<void>()
  let state = 'processing'
  gateway.here.script = ({ method }) => {
    if (method === 'POST') submitted.resolve()
    return { json: { task_id: 'up-1', state, creations: creationsOf(state) } }
  }
  return {
    gateway,
    submitted: submitted.promise,
    finish: () => {
      state = 'success'
    },
    creates: () => gateway.requests.filter(({ method }) => method === 'POST').length,
    ask: async (signal?: AbortSignal, url = gateway.gatewayUrl) => {
      const response = await fetch(`${url}/ent/v2/text2video`, {
        method: 'POST',
        headers: HEADERS,
        body: JSON.stringify({ model: 'clip', prompt: 'a cat', duration: 5 }),
        signal: signal ?? null,
      })
      const json = (await response.json()) as { task_id?: string; state?: string }
      return {
        status: response.status,
        json,
        replayed: response.headers.get('idempotent-replayed'),
      }
    },
  }
}
type AwaitedCreates = Awaited<ReturnType<typeof startAwaited>>

/** One task that was created and charged once, and that its key shows. */
const checkOnce = async (t: Test, { gateway, creates, ask, finish }: AwaitedCreates) => {
  const during = await ask()
  t.equal(during.status, 200)
  t.equal(during.replayed, 'true', 'the repetition is told of the task')
  finish()
  await gateway.reach(String(during.json.task_id), 'success')
  const [tasks] = await gateway.rows('SELECT count(*) AS n FROM tasks')
  t.equal(Number(tasks?.n), 1)
  t.equal(creates(), 1)
  t.equal(await gateway.spent(), PRICE)
  t.same(await gateway.findings(), [])
}

for (const engine of ENGINES) {
  t.test(`awaited create (${engine}): its key shows the task after its client left`, async t => {
    const awaited = await startAwaited(t, engine)
    const client = new AbortController()
    const first = awaited.ask(client.signal).catch(() => 'left')
    await awaited.submitted
    client.abort()
    t.equal(await first, 'left')
    await checkOnce(t, awaited)
  })

  t.test(`awaited create (${engine}): its key shows the task while it waits`, async t => {
    const awaited = await startAwaited(t, engine)
    const first = awaited.ask()
    await awaited.submitted
    await checkOnce(t, awaited)
    const { json, status } = await first
    t.same([status, json.state], [200, 'success'])
    t.same((await awaited.ask()).json, json, 'the answer at its end replaces the earlier one')
  })

  t.test(
    `awaited create (${engine}): its key shows the task after its process is gone`,
    async t => {
      const awaited = await startAwaited(t, engine)
      const first = awaited.ask()
      await awaited.submitted
      const { gatewayUrl } = await awaited.gateway.worker({ wait: '30s' })
      await awaited.gateway.change('DELETE FROM tollgate_processes')
      const again = await awaited.ask(undefined, gatewayUrl)
      t.same([again.status, again.replayed], [200, 'true'])
      await checkOnce(t, awaited)
      t.equal((await first).json.task_id, again.json.task_id, 'its client is answered as well')
    },
  )
}

t.test('awaited create: another request with its key is refused, and changes nothing', async t => {
  const awaited = await startAwaited(t, 'sqlite')
  const client = new AbortController()
  void awaited.ask(client.signal).catch(() => {})
  await awaited.submitted
  const other = await fetch(`${awaited.gateway.gatewayUrl}/ent/v2/text2video`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({ model: 'clip', prompt: 'a dog', duration: 5 }),
  })
  t.equal(other.status, 422, 'another request with this key')
  client.abort()
  await checkOnce(t, awaited)
})

/** A chat that waits for its result as a task. */
const PREFER = { prefer: 'respond-async, wait=30', 'idempotency-key': 'k' }

for (const engine of ENGINES)
  t.test(`awaited call (${engine}): its key shows the task after its client left`, async t => {
    const gateway = await startCalls(t, engine)
    const atUpstream = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const { script } = gateway.upstream
    gateway.upstream.script = async count => {
      atUpstream.resolve()
      await finish.promise
      return script(count)
    }
    const client = new AbortController()
    const body = { model: 'talk', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 }
    const first = fetch(gateway.url + CHAT, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...PREFER },
      body: JSON.stringify(body),
      signal: client.signal,
    }).catch(() => 'left')
    await atUpstream.promise
    const during = await gateway.ask(PREFER)
    t.same([during.status, during.headers.get('idempotent-replayed')], [202, 'true'])
    client.abort()
    t.equal(await first, 'left')
    finish.resolve()
    const location = during.headers.get('location')
    t.equal((await gateway.result(location)).status, 200)
    const again = await gateway.ask(PREFER)
    t.equal(again.headers.get('location'), location)
    t.equal(gateway.upstream.bodies.length, 1)
    t.same(await gateway.findings(), [])
  })

t.test('awaited call: one that failed frees its key', async t => {
  const gateway = await startCalls(t)
  const { script } = gateway.upstream
  gateway.upstream.script = () => ({ status: 500 })
  t.equal((await gateway.ask(PREFER)).status, 500)
  gateway.upstream.script = script
  const again = await eventually(async () => {
    const answer = await gateway.ask(PREFER)
    return answer.status === 409 ? undefined : answer
  })
  t.equal(again.status, 200)
  t.notOk(again.headers.has('idempotent-replayed'))
  t.same(await gateway.findings(), [])
})
