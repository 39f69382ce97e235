/** Callbacks of tasks over real receivers: what is sent, how it is signed and when it is tried
 *  again. */
import { createHmac } from 'node:crypto'
import t from 'tap'
import { deleteAccount } from '../../../plugins/credentials/statements.ts'
import { decryptKey, encryptKey } from '../../../plugins/task/callback-key.ts'
import { announce, CALLBACK_DELAYS } from '../../../plugins/task/callbacks.ts'
import { viduCallback } from '../../../plugins/task/dialects/vidu-callback.ts'
import { deleteExpiredTasks } from '../../../plugins/task/jobs.ts'
import type { Task } from '../../../plugins/task/task.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  type Receiver,
  startReceiver,
  status,
  trustReceivers,
} from '../../helpers/money/receiver.ts'
import { ENGINES, statement } from '../../helpers/store/store.ts'
import { creationsOf, KEY, runCommand, startTasks, statesOf } from './task-gateway.ts'

trustReceivers()

type Gateway = Awaited<ReturnType<typeof startTasks>>
const callbacksOf = (gateway: Gateway) =>
  gateway.rows('SELECT * FROM task_callbacks ORDER BY created, id')
const bodiesOf = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body))
/** Makes the pending callbacks due now. */
const hasten = async ({ database }: Gateway) => {
  const text = "UPDATE task_callbacks SET due = 1 WHERE state = 'pending'"
  await database.write([{ sql: { name: 'hasten', text }, values: [] }])
}
const keyColumn = async (gateway: Gateway) => {
  const [row] = await gateway.rows('SELECT callback_key FROM tasks')
  return row?.callback_key
}

for (const engine of ENGINES)
  t.test(`callback on ${engine}: each state is sent once, as the query shows it`, async t => {
    const gateway = await startTasks(t, engine)
    const receiver = await startReceiver(t)
    // The processing state lasts until its callback has come.
    const states = statesOf('queueing', 'processing')
    gateway.here.script = (request, count) =>
      receiver.received.length === 0
        ? states(request, count)
        : { json: { state: 'success', creations: [{ id: '1', url: 'https://files.example/1' }] } }
    const url = `${receiver.origin}/done%20?order=s%2F7&x=1`
    const { json } = await gateway.create({ callback_url: url, payload: 'order 7' })
    const id = String(json.task_id)
    const encrypted = await keyColumn(gateway)
    await receiver.until(2)
    const [processing, success] = bodiesOf(receiver)
    t.match(processing, { id, state: 'processing', payload: 'order 7', creations: [] })
    t.same(success, (await gateway.query(id)).json)
    t.match(success, { state: 'success', creations: [{ url: 'https://files.example/1' }] })
    for (const { method, url, headers } of receiver.received) {
      t.equal(method, 'POST')
      t.equal(url, '/done%20?order=s%2F7&x=1')
      t.equal(headers['content-type'], 'application/json')
      t.match(headers, {
        'x-hmac-algorithm': 'hmac-sha256',
        'x-hmac-access-key': 'vidu',
        'x-hmac-signed-headers': 'Date;x-request-nonce',
      })
      t.ok(Math.abs(Date.parse(headers.date ?? '') - Date.now()) < 60_000)
      const nonce = headers['x-request-nonce']
      const text = `POST\n/done%20\norder=s%2F7&x=1\nvidu\n${headers.date}\nDate:${headers.date}\nx-request-nonce:${nonce}\n`
      const signature = createHmac('sha256', KEY).update(text).digest('base64')
      t.equal(headers['x-hmac-signature'], signature)
    }
    const [submit] = gateway.requests
    t.notOk('callback_url' in (submit?.body ?? {}), 'the upstream does not get the URL')
    await eventually(async () => ((await keyColumn(gateway)) === null ? true : undefined))
    t.match(encrypted, /^[\w+/]{40,}=*$/)
    t.match(await callbacksOf(gateway), [
      { topic: 'processing', state: 'delivered', attempts: 1, last: 1, status: 200 },
      { topic: 'success', state: 'delivered', attempts: 1, last: 4, status: 200 },
    ])
    const stored = [
      ...(await gateway.rows('SELECT * FROM tasks')),
      ...(await callbacksOf(gateway)),
      ...(await gateway.rows('SELECT * FROM charges')),
    ]
    t.notMatch(JSON.stringify(stored), KEY, 'no table has the key')
    t.ok(gateway.lines.some(line => line.includes(`127.0.0.1:${receiver.port}`)))
    t.notMatch(gateway.lines.join('\n'), new RegExp(`${KEY}|order=s`), 'no line of the log has it')
    t.same(await gateway.findings(), [])
  })

for (const engine of ENGINES)
  t.test(`callback on ${engine}: none is sent after the account was deleted`, async t => {
    const gateway = await startTasks(t, engine)
    const { database } = gateway
    const receiver = await startReceiver(t)
    const isDeleted = Promise.withResolvers<void>()
    const states = statesOf('queueing', 'success')
    gateway.here.script = async (request, count) => {
      if (request.method === 'GET') await isDeleted.promise
      return states(request, count)
    }
    await gateway.create({ callback_url: receiver.origin })
    const [row] = await gateway.rows('SELECT account FROM tasks')
    await database.write([
      statement('account', 'INSERT INTO accounts (id, name, role, created) VALUES (?, ?, ?, 1)', [
        row?.account ?? 0,
        'ann',
        'customer',
      ]),
    ])
    await database.write(deleteAccount(Number(row?.account), 'ann', Date.now()))
    isDeleted.resolve()
    await eventually(async () => ((await keyColumn(gateway)) === null ? true : undefined))
    t.match(await callbacksOf(gateway), [{ topic: 'success', state: 'failed', outcome: 'removed' }])
    t.equal(receiver.received.length, 0)
    t.match(await gateway.rows('SELECT state FROM charges'), [{ state: 'settled' }])
    t.same(await gateway.findings(), [])
  })

t.test(
  'callback: a final state is tried four times by schedule, then the key is erased',
  async t => {
    const gateway = await startTasks(t)
    gateway.here.script = statesOf('failed')
    const receiver = await startReceiver(t, status(500))
    await gateway.create({ callback_url: receiver.origin })
    for (const [index, delay] of CALLBACK_DELAYS.entries()) {
      const row = await eventually(async () => {
        const [callback] = await callbacksOf(gateway)
        return Number(callback?.attempts) > index ? callback : undefined
      })
      const wait = Number(row.due) - Date.now()
      t.ok(wait < delay * 1.1 && wait > delay * 0.9 - 3_000, `attempt ${index + 2} in ${wait} ms`)
      t.type(await keyColumn(gateway), 'string')
      await hasten(gateway)
    }
    await receiver.until(4)
    await eventually(async () => ((await keyColumn(gateway)) === null ? true : undefined))
    t.match(await callbacksOf(gateway), [
      { topic: 'failed', state: 'failed', attempts: 4, outcome: 'refused', status: 500 },
    ])
    t.same(
      new Set(bodiesOf(receiver).map(({ state, err_code }) => `${state} ${err_code}`)),
      new Set(['failed Moderation']),
    )
    const nonces = receiver.received.map(({ headers }) => headers['x-request-nonce'])
    t.equal(new Set(nonces).size, 4, 'each attempt has its own nonce')
  },
)

t.test('callbacks: of many tasks of two processes, each state comes once and in order', async t => {
  const gateway = await startTasks(t, 'postgres')
  const other = await gateway.worker()
  gateway.here.script = statesOf('processing', 'processing', 'success')
  const receiver = await startReceiver(t)
  const creates = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      (index % 2 ? gateway : other).create({ callback_url: receiver.origin }),
    ),
  )
  await eventually(async () => {
    const rows = await callbacksOf(gateway)
    const ends = rows.filter(({ topic, state }) => topic === 'success' && state === 'delivered')
    return ends.length === creates.length ? true : undefined
  })
  const bodies = bodiesOf(receiver)
  for (const { json } of creates) {
    const states = bodies.filter(({ id }) => id === json.task_id).map(({ state }) => state)
    t.match(states.join(' '), /^(?:processing )?success$/)
  }
  const keys = await gateway.rows('SELECT callback_key FROM tasks WHERE callback_key IS NOT NULL')
  t.same(keys, [])
  t.same(await gateway.findings(), [])
  t.notMatch(gateway.lines.join('\n'), /could not be moved on|deadlock/)
})

t.test('callback: a final state overtakes an intermediate one that is not delivered', async t => {
  const gateway = await startTasks(t)
  let state = 'processing'
  gateway.here.script = ({ method }) => ({
    json: method === 'POST' ? { task_id: 'up' } : { state, creations: creationsOf(state) },
  })
  const pause = Promise.withResolvers<void>()
  const receiver = await startReceiver(t, async (_, response) => {
    await pause.promise
    response.end()
  })
  const { json } = await gateway.create({ callback_url: receiver.origin })
  await receiver.until(1)
  state = 'success'
  await gateway.reach(String(json.task_id), 'success')
  t.match(await callbacksOf(gateway), [
    { topic: 'processing', state: 'superseded' },
    { topic: 'success', state: 'pending' },
  ])
  t.equal(receiver.received.length, 1, 'it waits for the attempt that is under way')
  pause.resolve()
  await receiver.until(2)
  t.same(
    bodiesOf(receiver).map(body => body.state),
    ['processing', 'success'],
  )
  await eventually(async () => ((await keyColumn(gateway)) === null ? true : undefined))
})

t.test('callback: an unusable URL is refused in the dialect and nothing is held', async t => {
  const gateway = await startTasks(t)
  for (const url of [
    'no url',
    'ftp://files.example/x',
    'http://10.0.0.1/hook',
    'https://169.254.169.254/',
    'https://user:password@127.0.0.1/',
    'https://no-such-name.invalid/',
    7,
  ]) {
    const { status, json } = await gateway.create({ callback_url: url })
    t.equal(status, 400, String(url))
    t.match(json, { code: 400, reason: 'FieldInvalid', message: /callback_url/ })
  }
  t.same(await gateway.rows('SELECT id FROM tasks'), [])
  t.same(await gateway.rows("SELECT request FROM charges WHERE state = 'open'"), [])
  t.equal((await gateway.create({ callback_url: '' })).status, 200, 'an empty text is not a URL')
})

t.test('callback: a cancelled task is announced', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = () => ({ status: 429 })
  const receiver = await startReceiver(t)
  const { json } = await gateway.create({ callback_url: receiver.origin })
  const id = String(json.task_id)
  await eventually(async () =>
    (await gateway.call('POST', `/tasks/${id}/cancel`)).status === 200 ? true : undefined,
  )
  await receiver.until(1)
  t.match(bodiesOf(receiver), [{ id, state: 'failed', err_code: 'UserCancelled' }])
})

t.test('callback: the decision of an operator is announced', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = () => ({ cut: true })
  const receiver = await startReceiver(t)
  const { json } = await gateway.create({ callback_url: `${receiver.origin}/hook?token=7` })
  const id = String(json.task_id)
  await receiver.until(1)
  await runCommand(gateway, 'resolve', [id], { refund: true })
  await receiver.until(2)
  t.match(bodiesOf(receiver), [
    { id, state: 'processing' },
    { id, state: 'failed', err_code: 'InternalServiceFailure' },
  ])
  const isDelivered = async () =>
    (await callbacksOf(gateway)).every(({ state }) => state === 'delivered') ? true : undefined
  await eventually(isDelivered)
  const { json: view } = await runCommand(gateway, 'show', [id])
  t.match(view, {
    late: false,
    callback: `127.0.0.1:${receiver.port}`,
    callbacks: [
      { topic: 'processing', state: 'delivered', attempts: 1, status: 200 },
      { topic: 'failed', state: 'delivered', attempts: 1, status: 200 },
    ],
  })
  t.notMatch(JSON.stringify(view), /token=7|callback_key/)
  t.same(await gateway.findings(), [])
})

t.test('callback: is deleted with its task', async t => {
  const gateway = await startTasks(t)
  gateway.here.script = statesOf('success')
  const receiver = await startReceiver(t, status(500))
  const { json } = await gateway.create({ callback_url: receiver.origin })
  await gateway.reach(String(json.task_id), 'success')
  const text = 'UPDATE tasks SET expires = 1'
  await gateway.database.write([{ sql: { name: 'expire', text }, values: [] }])
  await deleteExpiredTasks(gateway.database)
  t.same(await callbacksOf(gateway), [])
})

t.test('callback key: is bound to its task and its installation', async t => {
  const [secret, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const encrypted = encryptKey(secret, '7', 'sk-1')
  t.equal(decryptKey(secret, '7', encrypted), 'sk-1')
  t.not(encryptKey(secret, '7', 'sk-1'), encrypted)
  const otherStart = encrypted.startsWith('A') ? 'B' : 'A'
  for (const [key, task, text] of [
    [secret, '8', encrypted],
    [other, '7', encrypted],
    [secret, '7', `${otherStart}${encrypted.slice(1)}`],
    [secret, '7', ''],
  ] as const)
    t.throws(() => decryptKey(key, task, text), { code: 'CALLBACK_KEY' })
})

t.test('callback signature: an empty path is a slash', async t => {
  const at = Date.parse('2026-01-20T06:52:02Z')
  const headers = viduCallback.signatureHeaders({ url: 'https://a.example', key: 'k', at })
  const date = 'Tue, 20 Jan 2026 06:52:02 GMT'
  const nonce = headers['x-request-nonce']
  const text = `POST\n/\n\nvidu\n${date}\nDate:${date}\nx-request-nonce:${nonce}\n`
  t.equal(headers.Date, date)
  t.equal(headers['X-HMAC-SIGNATURE'], createHmac('sha256', 'k').update(text).digest('base64'))
})

t.test('callback: a task whose id has a prefix is announced', async t => {
  const callback = { dialect: 'vidu', url: 'https://shop.example/done' }
  const task = { id: 'video_918000000000000009', account: 1, callback, state: 'running' }
  const host = { section: () => ({}) } as unknown as Parameters<typeof announce>[2]
  const rest = { body: {}, results: [], created: 1, model: 'clip' }
  const after = { ...task, ...rest, copies: [] } as unknown as Task
  const statements = await announce('submitted', after, host, 1)
  t.match(statements[1]?.values[3], /^1 https:\/\/shop\.example [0-7]$/)
})
