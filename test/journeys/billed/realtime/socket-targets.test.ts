/** A target is chosen at its first content over WebSockets, too: responses over a WebSocket, and
 *  realtime sessions, which choose at the upgrade. A failed attempt costs nothing. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocketServer } from 'ws'
import { BEGINNINGS } from '../../../helpers/formats/beginnings.ts'
import { openSocket, type RefusedUpgrade } from '../../../helpers/gateway/web-socket.ts'
import {
  type Customer,
  gateway,
  prepareCustomer,
  rows,
  UNIT,
} from '../../../helpers/money/billing-gateway.ts'

type Behaviour = (response: ServerResponse) => unknown
/** The behaviour of the targets `a` and `b`, and the order of requests to them. */
let targets: Record<string, Behaviour> = {}
let requests: string[] = []
/** How `a` answers an upgrade: with a status, or not at all. */
let refusal: number | 'reset' = 503
const sockets = new WebSocketServer({ noServer: true })
const server = createServer(async (request, response) => {
  for await (const _ of request);
  const target = request.url?.split('/')[1] ?? ''
  requests.push(target)
  await targets[target]?.(response)
})
  .on('upgrade', (request, socket, head) => {
    const target = request.url?.split('/')[1] ?? ''
    requests.push(target)
    if (target === 'b')
      return sockets.handleUpgrade(request, socket, head, client => {
        client.on('message', () => client.send(JSON.stringify(DONE)))
      })
    if (refusal === 'reset') return socket.destroy()
    return socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`)
  })
  .listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => {
  for (const client of sockets.clients) client.terminate()
  server.closeAllConnections()
  server.close()
})
const DONE = {
  type: 'response.done',
  response: { id: 'r', usage: { total_tokens: 3, input_tokens: 1, output_tokens: 2 } },
}

const FORMATS = Object.keys(BEGINNINGS)
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const upstream = (name: string, format: string): string =>
  `  ${name}-${format}: { url: '${url}/${name}', key: k, health: { failures: 1000000 }, formats: [${format}], timeout: { first_content: 300ms } }\n`
const PRICE = 'context: 100, output: 50, price: { input: 0.01, output: 0.02 }'
const ROUTES = `
pipeline: [errors, auth, model, responses, meter, translate, realtime]
upstreams:
${FORMATS.map(format => upstream('a', format) + upstream('b', format)).join('')}
models:
${FORMATS.map(each => `  both-${each}: { to: [a-${each}/m, b-${each}/m], ${PRICE} }\n  alone-${each}: { to: a-${each}/m, ${PRICE} }\n`).join('')}
routes:
  - { path: POST /v1/responses, name: responses, auth: key, model: body, responses: create, translate: openai-responses, errors: openai }
  - { path: WS /v1/responses, name: responses-socket, responses: socket, errors: openai }
  - { path: WS /v1/realtime, auth: key, model: { query: model }, realtime: true, errors: openai }
`
let customer: Customer
t.test('setup: routes and an account', async () => {
  customer = await prepareCustomer(ROUTES, 100_000n * UNIT)
})
t.beforeEach(() => {
  requests = []
})
const dial = (path: string) =>
  openSocket(gateway.url + path, [], { headers: { authorization: `Bearer ${customer.key}` } })

interface Event {
  readonly type: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}
const LAST = /^(?:response\.(?:completed|failed|incomplete)|error)$/
/** Requests one response over a new WebSocket. Resolves to its events, up to the first that ends
 *  the response. */
const respond = async (model: string): Promise<readonly Event[]> => {
  const client = await dial('/v1/responses')
  client.socket.send(JSON.stringify({ type: 'response.create', model, input: 'Where?' }))
  for (let count = 1; ; count++) {
    const events = (await client.until(count)).map(text => JSON.parse(text) as Event)
    if (events.length < count) throw new Error('the socket closed')
    const end = events.findIndex(({ type }) => LAST.test(type))
    if (end < 0) continue
    client.socket.close()
    await client.closed
    return events.slice(0, end + 1)
  }
}
/** The charge of a request, once it is closed. */
const chargeOf = async (request: string) => {
  for (;;) {
    const [row] = await rows(
      `SELECT state, amount, served FROM charges WHERE request = '${request}'`,
    )
    if (row?.state !== 'open') return row
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
/** The closed charges since a time. */
const chargesSince = async (at: number) => {
  for (;;) {
    const all = await rows(
      `SELECT state, amount FROM charges WHERE account = ${customer.account} AND opened >= ${at}`,
    )
    if (all.every(({ state }) => state !== 'open')) return all
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const streaming =
  (type: string, events: readonly Uint8Array[]): Behaviour =>
  async response => {
    response.writeHead(200, { 'content-type': type })
    for (const event of events) {
      response.write(event)
      await turn()
    }
    response.end()
  }
const isCharged = (row: Awaited<ReturnType<typeof rows>>[number] | undefined): boolean =>
  row?.state === 'settled' && Number(row.amount) > 0

for (const [format, { type, preamble, errors, answer }] of Object.entries(BEGINNINGS))
  t.test(`socket targets: responses over a WebSocket from ${format}`, async t => {
    const beginnings: Readonly<Record<string, Behaviour>> = {
      'a refusal': response => response.writeHead(503).end('{}'),
      'an error': streaming(type, errors[0] ? [errors[0][0]] : []),
      'an error behind a preamble': streaming(type, [...preamble, ...errors.map(each => each[0])]),
      'an end behind a preamble': streaming(type, preamble),
      'silence behind a preamble': response => {
        response.writeHead(200, { 'content-type': type })
        for (const event of preamble) response.write(event)
      },
    }
    for (const [what, a] of Object.entries(beginnings)) {
      requests = []
      targets = { a, b: streaming(type, answer) }
      const events = await respond(`both-${format}`)
      t.match(JSON.stringify(events), /Rome/, what)
      t.notMatch(JSON.stringify(events), /later|overloaded/, `${what}: nothing of it is sent`)
      t.equal(events.filter(each => each.type === 'response.created').length, 1, what)
      t.same(requests, ['a', 'b'], what)
      const charge = await chargeOf(events[0]?.headers?.['x-request-id'] ?? '')
      t.ok(isCharged(charge), `${what}: ${JSON.stringify(charge)}`)
      t.match(charge?.served, `b-${format}`, 'what served it is charged')
    }
    for (const what of ['a refusal', 'an error', 'an error behind a preamble']) {
      requests = []
      targets = { a: beginnings[what] as Behaviour }
      const now = Date.now()
      const events = await respond(`alone-${format}`)
      const end = events.at(-1)
      t.match(end?.type, /^(?:error|response\.failed)$/, `${what}: with no target left`)
      for (const row of await chargesSince(now)) t.notOk(isCharged(row), what)
    }
  })

for (const reason of [503, 500, 429, 401, 'reset'] as const)
  t.test(`socket targets: a realtime session that ${reason} refuses opens elsewhere`, async t => {
    refusal = reason
    const now = Date.now()
    const client = await dial('/v1/realtime?model=both-openai-chat')
    t.same(requests, ['a', 'b'])
    client.socket.send('{}')
    await client.until(1)
    client.socket.close()
    await client.closed
    const id = String(client.headers['x-request-id'])
    t.ok(isCharged(await chargeOf(id)))
    t.equal((await chargesSince(now)).length, 1, 'one charge for both attempts')
    requests = []
    const error = await dial('/v1/realtime?model=alone-openai-chat').catch(
      (each: RefusedUpgrade) => each,
    )
    t.ok('status' in error && error.status >= 400, 'with no target left')
    for (const row of (await chargesSince(now)).slice(1)) t.notOk(isCharged(row))
  })
