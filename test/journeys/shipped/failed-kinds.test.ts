/** Failed calls of the shipped routes: a task that its provider fails, and a conversation
 *  that its upstream refuses, are each one row that the customer finds, as a refused call is. */
import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { gateway, key, upstream } from './shipped-gateway.ts'

const [, token = ''] = /\b(st-[A-Za-z0-9]{20,})/.exec(gateway.output()) ?? []
const [asKey, asToken] = [`Bearer ${key}`, `Bearer ${token}`]

type Fields = Readonly<Record<string, unknown>>
const call = async (method: string, path: string, body?: Fields) => {
  const response = await fetch(gateway.url + path, {
    method,
    headers: {
      authorization: path.startsWith('/api/') ? asToken : asKey,
      'content-type': 'application/json',
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Fields }
}
const failed = async (): Promise<readonly Fields[]> =>
  (await call('GET', '/api/usage?status=failed&limit=100')).json.data as readonly Fields[]
const chat = { model: 'gp-4.1', messages: [{ role: 'user', content: 'hi' }] }
const broken = [{ do: 'body' } as const, plain({ error: { message: 'no GPU' } }, '500 Broken')]

/** The rows that this work adds, once there is one for each expected state. */
const rowsOf = async (work: () => Promise<unknown>, count: number): Promise<readonly Fields[]> => {
  const before = new Set((await failed()).map(({ request_id }) => request_id))
  await work()
  return eventually(async () => {
    const rows = (await failed()).filter(({ request_id }) => !before.has(request_id))
    return rows.length >= count ? rows : undefined
  })
}
t.test('failed calls: a wrong request and an answer of the upstream are a row each', async t => {
  await upstream.script('gp', broken)
  const rows = await rowsOf(async () => {
    await call('POST', '/v1/chat/completions', { ...chat, temperature: 'hot' })
    await call('POST', '/v1/chat/completions', chat)
  }, 2)
  t.match(
    rows.map(({ status, route }) => [status, route]).toSorted(),
    [
      [400, 'chat'],
      [500, 'chat'],
    ],
    JSON.stringify(rows),
  )
})
t.test('failed calls: a task that its provider fails is one row', async t => {
  await upstream.script('vd', [
    { do: 'body' },
    plain({ task_id: '7', state: 'failed', err_code: 'no people' }),
  ])
  const rows = await rowsOf(
    () => call('POST', '/ent/v2/text2video', { model: 'vdq3', prompt: 'x' }),
    1,
  )
  t.equal(rows.length, 1)
  t.match(rows[0], { route: 'text2video', cost: 0 }, JSON.stringify(rows))
})
t.test('failed calls: a conversation that its upstream refuses is one row', async t => {
  await upstream.script('gp', [plain({ error: { message: 'no GPU' } }, '500 Broken')])
  const rows = await rowsOf(async () => {
    const socket = new WebSocket(
      `${gateway.url.replace('http', 'ws')}/v1/realtime?model=gp-realtime`,
      {
        headers: { authorization: asKey },
      },
    )
    socket.on('error', () => {})
    await Promise.race([once(socket, 'close'), once(socket, 'unexpected-response')])
    socket.terminate()
  }, 1)
  t.equal(rows.length, 1)
  t.match(rows[0], { route: 'realtime' }, JSON.stringify(rows))
})
