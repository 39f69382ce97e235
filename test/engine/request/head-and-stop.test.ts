/** HEAD on a route of GET, and a stage that reads no more of a body. */
import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { pluginOf, startTestServer } from '../../helpers/gateway/test-server.ts'

t.test('HEAD: is answered by the route of GET, without a body', async t => {
  const stage = pluginOf(
    {
      async handle(exchange) {
        exchange.answer(200, { method: exchange.request.method }, { etag: '"1"' })
      },
    },
    {
      setup: () => ({
        answers: true,
        handle: async e => void e.answer(200, { a: 1 }, { etag: '"1"' }),
      }),
    },
  )
  const { url } = await startTestServer(t, { stage }, { routes: [{ path: 'GET /files/{id}' }] })
  const get = await fetch(`${url}/files/1`)
  const head = await fetch(`${url}/files/1`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('etag'), '"1"')
  t.equal(head.headers.get('content-length'), String((await get.text()).length))
  t.equal(await head.text(), '')
  const other = await fetch(`${url}/files/1`, { method: 'DELETE' })
  t.equal(other.status, 405)
  t.equal(other.headers.get('allow'), 'GET, HEAD')
})

t.test('request.stop: ends the stream and closes the connection with the reply', async t => {
  let chunks = 0
  const handle = async (exchange: import('../../../engine/plugin.ts').Exchange) => {
    for await (const _ of exchange.request.stream()) {
      chunks++
      exchange.request.stop()
    }
    exchange.answer(413, { chunks })
  }
  const stage = pluginOf({}, { setup: () => ({ answers: true, handle }) })
  const { url } = await startTestServer(t, { stage }, { routes: [{ path: 'POST /files' }] })
  const sending = request(`${url}/files`, { method: 'POST' })
  sending.on('error', () => {})
  sending.write(Buffer.alloc(1000))
  const [response] = await once(sending, 'response')
  t.equal(response.statusCode, 413)
  t.equal(response.headers.connection, 'close')
  t.equal(chunks, 1)
  sending.destroy()
})
