/** Requests that are refused before routing, and unknown paths: errors in the dialect of the
 *  nearest route. */
import t from 'tap'
import { rawClient, replies } from '../../helpers/raw.ts'
import { gateway, key } from './shipped-gateway.ts'

t.test('refused head: uses the dialect of the route that the path matches', async t => {
  const host = 'host: x\r\n'
  const long = 'x'.repeat(20_000)
  const google = (code: number) => ({ error: { code, status: String, message: String } })
  const openai = { error: { type: String, message: String } }
  const anthropic = { type: 'error', error: { type: String, message: String } }
  for (const [head, status, expected] of [
    [`GET /v1/models HTTP/1.1\r\n${host}content-length: 2\r\n\r\n{}`, 400, openai],
    [`GET /v1beta/models?key=${'a'.repeat(9_000)} HTTP/1.1\r\n${host}\r\n`, 414, google(414)],
    [`GET /v1beta/models/a%00b HTTP/1.1\r\n${host}\r\n`, 400, google(400)],
    [`GET /v1beta/models HTTP/1.1\r\n${host}x: ${long}\r\n\r\n`, 431, google(431)],
    [
      `POST /v1/messages HTTP/1.1\r\n${host}expect: nosuch\r\ncontent-length: 2\r\n\r\n{}`,
      417,
      anthropic,
    ],
  ] as const) {
    const client = await rawClient(gateway)
    await client.send(head)
    await client.until('}')
    const [reply] = replies(client.text())
    t.equal(reply?.status, status, head.slice(0, 40))
    t.match(JSON.parse(reply?.body ?? ''), expected)
    client.close()
  }
})

t.test('unknown method: is not found for any path', async t => {
  for (const path of ['/v1beta/models/gp-4.1:nosuch', '/v1/models/gp-4.1:nosuch']) {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
    })
    t.equal(response.status, 404, path)
    t.match(await response.json(), { error: { message: String } })
  }
})
