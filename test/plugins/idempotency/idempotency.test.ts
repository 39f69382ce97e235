/** Idempotency-Key over real sockets and a real store: one upstream call, the same reply to
 *  repeated requests. */
import t from 'tap'
import { install, installOn, post } from '../../helpers/gateway/installation.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { ENGINES, sql, startAnyStore } from '../../helpers/store/store.ts'

const countStatus = (all: readonly { readonly status: number }[], expected: number) =>
  all.filter(each => each.status === expected).length

for (const engine of ENGINES)
  t.test(
    `idempotency on ${engine}: of a hundred concurrent requests one runs, later ones get its reply`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      const workers = [await here.worker(), await here.worker()]
      const go = Promise.withResolvers<void>()
      const plain = here.script
      here.script = (request, response, call) =>
        void go.promise.then(() => plain(request, response, call))
      const storm = Array.from({ length: 100 }, (_, at) => post(`${workers[at % 2]?.url}/a`, 'k'))
      let conflicts = 0
      for (const one of storm)
        void one.then(each => {
          if (each.status === 409) conflicts++
        })
      await eventually(() => conflicts === 99 || undefined)
      go.resolve()
      const all = await Promise.all(storm)
      t.equal(here.calls, 1)
      t.equal(countStatus(all, 200), 1)
      t.equal(countStatus(all, 409), 99)
      const conflict = all.find(each => each.status === 409)
      t.match(conflict?.text, /idempotency_key_in_use/)
      t.equal(conflict?.headers.get('retry-after'), '1')
      const first = all.find(each => each.status === 200)
      for (const { url } of workers) {
        const again = await post(`${url}/a`, 'k')
        t.equal(again.text, first?.text)
        t.equal(again.status, 200)
        t.equal(again.headers.get('idempotent-replayed'), 'true')
        t.equal(again.headers.get('x-kind'), 'plain')
        t.equal(again.headers.get('content-type'), 'application/json')
        t.ok(again.headers.get('x-request-id'))
        t.not(again.headers.get('x-request-id'), first?.headers.get('x-request-id'))
      }
      t.equal(here.calls, 1)
      t.notOk(first?.headers.has('idempotent-replayed'))
    },
  )

for (const engine of ENGINES)
  t.test(`idempotency on ${engine}: a replay writes no copy of its reply`, async t => {
    const here = await installOn(t, await startAnyStore(t, engine))
    const { url } = await here.worker()
    const large = 'a'.repeat(500_000)
    here.script = (_, response) => void response.end(large)
    t.equal((await post(`${url}/a`, 'k')).text, large)
    t.equal((await post(`${url}/a`, 'k')).text, large)
    t.equal(here.calls, 1)
    const [column, table] =
      engine === 'sqlite' ? ['rows', 'tollgate_lists'] : ['outcomes', 'tollgate_clients']
    const text = `SELECT max(length(${column})) AS size FROM ${table}`
    const [record] = await here.database.read(sql('longest record', text), [])
    t.ok(Number(record?.size) < 1_024, `the store keeps ${record?.size} characters for repetitions`)
  })

for (const engine of ENGINES)
  t.test(
    `idempotency on ${engine}: a key belongs to one account, one route and one body`,
    async t => {
      const here = await installOn(t, await startAnyStore(t, engine))
      const { url } = await here.worker()
      t.equal((await post(`${url}/a`, 'k')).text, '{"call":1}')
      t.equal((await post(`${url}/b`, 'k')).text, '{"call":2}', 'another route')
      t.equal((await post(`${url}/a`, 'k', { account: '2' })).text, '{"call":3}', 'another account')
      t.equal((await post(`${url}/a`, 'K')).text, '{"call":4}', 'another key')
      const other = await post(`${url}/a`, 'k', { body: '{"a":2}' })
      t.equal(other.status, 422)
      t.match(other.text, /idempotency_key_reused/)
      t.equal((await post(`${url}/a?x=1`, 'k')).status, 422, 'another query')
      t.equal((await post(`${url}/a?key=sk-1`, 'k')).text, '{"call":1}', 'another credential')
      t.equal((await post(`${url}/a`, '')).text, '{"call":5}', 'a request without a key runs')
      t.equal(
        (await post(`${url}/a`, 'k', { account: '' })).text,
        '{"call":6}',
        'a request without an account runs',
      )
      t.equal((await post(`${url}/a`, 'k')).text, '{"call":1}')
    },
  )

t.test('idempotency: a form that is sent again has another boundary and is the same', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  const send = async (prompt: string, file: string, name = 'a.png') => {
    const form = new FormData()
    form.set('prompt', prompt)
    form.set('image', new File([file], name, { type: 'image/png' }))
    const headers = { account: '1', 'idempotency-key': 'k' }
    const response = await fetch(`${url}/a`, { method: 'POST', body: form, headers })
    return { status: response.status, text: await response.text() }
  }
  t.equal((await send('a cat', 'bytes')).text, '{"call":1}')
  t.equal((await send('a cat', 'bytes')).text, '{"call":1}')
  t.equal((await send('a dog', 'bytes')).status, 422, 'another text')
  t.equal((await send('a cat', 'other')).status, 422, 'another file')
  t.equal((await send('a cat', 'bytes', 'b.png')).status, 422, 'another name of the file')
  t.equal(here.calls, 1)
})

t.test('idempotency: an invalid key is refused', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  for (const wrong of ['a b', 'x'.repeat(256), 'caf\u00e9', '\u0001', ' ', 'a, b'])
    await post(`${url}/a`, wrong).then(
      reply => {
        t.equal(reply.status, 400, JSON.stringify(wrong))
        t.match(reply.text, /"type":"invalid_request_error"/)
      },
      () => t.pass('the client refuses to send it'),
    )
  for (const right of [
    '!',
    '~',
    'x'.repeat(255),
    "'; DROP TABLE idempotency_keys; --".replaceAll(' ', '_'),
  ])
    t.equal((await post(`${url}/a`, right)).status, 200, right)
  t.equal(here.calls, 4)
  t.equal((await here.rows()).length, 4)
})

t.test('idempotency: responses survive a restart and expire after 24 hours', async t => {
  const here = await install(t)
  const before = await here.worker()
  t.equal((await post(`${before.url}/a`, 'k')).text, '{"call":1}')
  await here.store.kill()
  await here.store.respawn()
  const { url } = await here.worker()
  t.equal((await post(`${url}/a`, 'k')).text, '{"call":1}')
  here.ahead = 24 * 3_600_000 - 10_000
  t.equal((await post(`${url}/a`, 'k')).text, '{"call":1}')
  here.ahead = 24 * 3_600_000
  const [one, other] = await Promise.all([
    post(`${url}/a`, 'k', { body: '{"a":2}' }),
    post(`${before.url}/a`, 'k', { body: '{"a":2}' }),
  ])
  t.equal(here.calls, 2, 'one of two runs')
  t.ok([one, other].some(each => each.text === '{"call":2}'))
  t.ok([one, other].every(each => [200, 409].includes(each.status)))
})

for (const engine of ENGINES)
  t.test(`idempotency on ${engine}: an event stream is replayed unchanged`, async t => {
    const here = await installOn(t, await startAnyStore(t, engine))
    const { url } = await here.worker()
    here.script = (_, response, call) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(`data: ${call}\n\n`)
      setImmediate(() => response.end('data: grüß\n\ndata: [DONE]\n\n'))
    }
    const first = await post(`${url}/a`, 's')
    const again = await post(`${url}/a`, 's')
    t.equal(again.text, 'data: 1\n\ndata: grüß\n\ndata: [DONE]\n\n')
    t.equal(again.text, first.text)
    t.equal(again.headers.get('content-type'), 'text/event-stream')
  })

t.test('idempotency: a response without a body is stored', async t => {
  const here = await install(t)
  const { url } = await here.worker()
  here.script = (_, response) => void response.writeHead(204).end()
  t.equal((await post(`${url}/a`, 'k')).status, 204)
  const again = await post(`${url}/a`, 'k')
  t.equal(again.status, 204)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(here.calls, 1)
})

t.test('idempotency: a repeated request with a too large response is refused with 410', async t => {
  const here = await install(t)
  const { url } = await here.worker({ options: { largest: '1KiB' } })
  here.script = (_, response) => void response.end('x'.repeat(1_025))
  t.equal((await post(`${url}/a`, 'large')).text.length, 1_025)
  const again = await post(`${url}/a`, 'large')
  t.equal(again.status, 410)
  t.match(again.text, /exceeds 1024 bytes/)
  here.script = (_, response) => void response.end('x'.repeat(1_024))
  await post(`${url}/a`, 'fits')
  t.equal((await post(`${url}/a`, 'fits')).text.length, 1_024)
  t.equal(here.calls, 2)
})
