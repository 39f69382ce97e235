/** A key owns its work with all its secrets: replies of idempotent calls, stored responses, files,
 *  batches, tasks and usage, on both stores and over two gateways. */
import t, { type Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

t.setTimeout(300_000)

type Fields = { readonly [name: string]: unknown }
interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly json: Fields
}
const CALL = {
  model: 'gp-4.1',
  max_tokens: 5,
  messages: [{ role: 'user', content: 'hello' }],
}

/** One gateway on SQLite, two on one PostgreSQL: `first` and `second` are the same on SQLite. */
const startGateways = async (t: Test, engine: 'sqlite' | 'postgres') => {
  const server = engine === 'postgres' ? await startPostgres() : undefined
  const url = server ? await server.create() : 'sqlite:'
  const env = { DATABASE_URL: url, FILES_URL: `file:${temporaryFolder(t)}` }
  const first = await startGateway({ env })
  const second = server ? await startGateway({ env }) : first
  t.teardown(async () => {
    for (const gateway of new Set([first, second])) await gateway.stop()
    await server?.stop()
  })
  const database = await openDatabase({ url, data: first.data, writeTimeout: 10_000 })
  await giveCredit(database, 1, 10n ** 15n)
  await database.close()
  const token = await eventually(() => /\b(st-[A-Za-z0-9]{20,})/.exec(first.output())?.[1])
  const send = async (
    at: { readonly url: string },
    [method, path]: readonly [string, string],
    secret: string,
    body?: object,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> => {
    const isForm = body instanceof FormData
    const reply = await fetch(at.url + path, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(!isForm && { 'content-type': 'application/json' }),
        ...more,
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
    const text = await reply.text()
    const isJson = /^\{[^\n]*\}$/.test(text)
    const json = isJson ? JSON.parse(text) : { text }
    return { status: reply.status, headers: reply.headers, json }
  }
  const manage = async (path: string, body?: object, at = first) =>
    (await send(at, [body ? 'POST' : 'GET', path], token, body)).json.data as never
  return { first, second, token, send, manage }
}
const batchFile = (): FormData => {
  const lines = [1, 2, 3].map(at => ({
    custom_id: `line-${at}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: CALL,
  }))
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([lines.map(line => JSON.stringify(line)).join('\n')]), 'a.jsonl')
  return form
}

for (const engine of ['sqlite', 'postgres'] as const)
  t.test(`rotated keys (${engine}): the new secret has what the old one made`, async t => {
    const { first, second, token, send, manage } = await startGateways(t, engine)
    const create = async (more: object): Promise<{ id: number; key: string }> =>
      await manage('/api/keys', { name: 'worker', ...more })
    const rotate = async (id: number, body: object, at = first): Promise<{ key: string }> =>
      await manage(`/api/keys/${id}/rotate`, body, at)

    await t.test('replies, responses, files, batches and tasks', async t => {
      const old = await create({})
      const once = { 'idempotency-key': 'order-1' }
      const chat = ['POST', '/v1/chat/completions'] as const
      const reply = await send(first, chat, old.key, CALL, once)
      t.equal(reply.status, 200)
      const input = { model: 'gp-4.1', input: 'hello', store: true }
      const response = await send(first, ['POST', '/v1/responses'], old.key, input)
      const background = await send(first, ['POST', '/v1/responses'], old.key, {
        ...input,
        background: true,
      })
      const file = await send(first, ['POST', '/v1/files'], old.key, batchFile())
      const batch = await send(first, ['POST', '/v1/batches'], old.key, {
        input_file_id: file.json.id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      })
      const video = { model: 'vdq3', prompt: 'a ship', resolution: '720p', duration: 5 }
      const task = await send(first, ['POST', '/ent/v2/text2video'], old.key, video)
      for (const { status, json } of [response, background, file, batch, task])
        t.equal(status, 200, JSON.stringify(json).slice(0, 200))

      // Without an overlap: the old secret has ended, and what it began goes on.
      const latest = await rotate(old.id, {})
      const replay = await send(second, chat, latest.key, CALL, once)
      t.equal(replay.headers.get('idempotent-replayed'), 'true')
      t.same(replay.json, reply.json)
      const read = (path: string) => send(second, ['GET', path], latest.key)
      t.match(await read(`/v1/responses/${response.json.id}`), { status: 200 })
      const next = { ...input, previous_response_id: response.json.id }
      t.match(await send(second, ['POST', '/v1/responses'], latest.key, next), { status: 200 })
      t.match(await read(`/v1/files/${file.json.id}`), { json: { filename: 'a.jsonl' } })
      t.match(await read(`/v1/files/${file.json.id}/content`), { json: { text: /line-3/ } })
      const ended = async (path: string, state: string) =>
        eventually(async () => {
          const { json } = await read(path)
          return json.status === state || json.state === state ? json : undefined
        })
      await ended(`/v1/responses/${background.json.id}`, 'completed')
      const done = await ended(`/v1/batches/${batch.json.id}`, 'completed')
      t.match(done, { request_counts: { total: 3, completed: 3 } })
      await ended(`/ent/v2/tasks/${task.json.task_id}/creations`, 'success')
      for (const gateway of [first, second])
        await eventually(async () => {
          const { status } = await send(gateway, chat, old.key, CALL)
          return status === 401 ? true : undefined
        })
      const usage = (await manage('/api/usage?by=key')) as readonly Fields[]
      t.equal(usage.filter(({ key }) => key === old.id).length, 1, 'one row of usage')
      const rows = (await send(first, ['GET', '/api/token/?size=100'], token)).json
        .data as unknown as { readonly items: readonly Fields[] }
      t.equal(rows.items.filter(({ name }) => name === 'worker').length, 1, '/api/token/ has one')
      await send(first, ['DELETE', `/api/keys/${old.id}`], token)
    })

    await t.test('two rotations at once: one secret each that works, or a refusal', async t => {
      const { id } = await create({})
      const replies = await Promise.all(
        [first, second, first, second].map(at =>
          send(at, ['POST', `/api/keys/${id}/rotate`], token, { overlap: '1h' }),
        ),
      )
      const accepted = replies.filter(({ status }) => status === 200)
      t.ok(accepted.length > 0)
      for (const { status, json } of replies) {
        if (status !== 200) t.match({ status, json }, { status: 409, json: { message: /changed/ } })
        const { key } = (json.data ?? {}) as { readonly key?: string }
        if (key)
          t.equal((await send(second, ['POST', '/v1/chat/completions'], key, CALL)).status, 200)
      }
      await send(first, ['DELETE', `/api/keys/${id}`], token)
      for (const { json } of accepted)
        for (const gateway of [first, second])
          await eventually(async () => {
            const { key } = json.data as { readonly key: string }
            const { status } = await send(gateway, ['POST', '/v1/chat/completions'], key, CALL)
            return status === 401 ? true : undefined
          })
    })

    await t.test('rotations under load never pass the quota or the tokens a minute', async t => {
      const QUOTA = 3_000
      const { id, key } = await create({ quota: QUOTA, quota_period: 'month' })
      const secrets = [key]
      const chat = ['POST', '/v1/chat/completions'] as const
      for (let round = 0; round < 3; round++) {
        const calls = [first, second].flatMap(at =>
          secrets.flatMap(secret => Array.from({ length: 6 }, () => send(at, chat, secret, CALL))),
        )
        const rotation = rotate(id, { overlap: '1h' }, round % 2 === 0 ? first : second)
        await Promise.all(calls)
        secrets.push((await rotation).key)
      }
      let last: Answer | undefined
      for (let at = 0; last === undefined || last.status === 200; at++)
        last = await send(at % 2 === 0 ? first : second, chat, secrets[at % 4] ?? '', CALL)
      t.match(last, { status: 403 })
      const keys = (await manage('/api/keys?limit=100')) as readonly Fields[]
      const row = keys.find(each => each.id === id)
      t.match(row, { quota: QUOTA, quota_period: 'month' })
      t.ok(Number(row?.used_quota) <= QUOTA, `${row?.used_quota} of ${QUOTA}`)
      t.ok(Number(row?.used_quota) > QUOTA - 1_000, `${row?.used_quota} were used`)

      const limited = await create({ limits: { tokens: '40/min' } })
      const { key: other } = await rotate(limited.id, { overlap: '1h' })
      const statuses: number[] = []
      for (let round = 0; round < 6; round++)
        for (const [at, secret] of [
          [first, limited.key],
          [second, other],
        ] as const)
          statuses.push((await send(at, chat, secret, CALL)).status)
      t.ok(statuses.includes(200) && statuses.includes(429), statuses.join(' '))
      t.equal(statuses.at(-1), 429)
      t.equal(statuses.at(-2), 429, 'both secrets have one limit of tokens')
    })
  })
