/** Accepted work ends with its owner: after a key expired or is revoked, or an account is suspended
 *  or deleted, no further batch line, task or background response starts. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { workersOf } from '../../helpers/process-tree.ts'

type Fields = { readonly [name: string]: unknown }

/** Answers what it is asked once `gate` is open. */
const upstream = { asked: [] as string[], gate: Promise.resolve(), open() {} }
const closeGate = (): void => {
  upstream.asked.length = 0
  upstream.gate = new Promise(resolve => {
    upstream.open = resolve
  })
}
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const responseAnswer = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'up',
  output: [],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
}
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', async () => {
    upstream.asked.push(`${request.url} ${Buffer.concat(chunks).toString()}`)
    await upstream.gate
    const answer = request.url?.endsWith('/responses')
      ? responseAnswer
      : request.url?.includes('/ent/v2')
        ? { task_id: '1', state: 'created' }
        : chatAnswer(usage)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo
const base = `http://127.0.0.1:${port}`
const gateway = await startGateway({
  env: {
    OPENAI_BASE_URL: `${base}/v1`,
    OPENAI_API_KEY: 'k',
    VIDU_BASE_URL: base,
    VIDU_API_KEY: 'k',
  },
})
t.teardown(() => gateway.stop())
await gateway.key()

const run = async (t: Test, ...argv: string[]): Promise<string> => {
  const { code, out, err } = await withOutput(t, argv, { TOLLGATE_DATA: gateway.data })
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${out}${err}`)
  return out
}
/** An account with money, and a key of it. */
const createOwner = async (t: Test, name: string) => {
  await run(t, 'accounts', 'create', name)
  await run(t, 'accounts', 'credit', name, '1000')
  const [secret = ''] = /sk-\w+/.exec(await run(t, 'keys', 'create', name, '--name', 'k')) ?? []
  const keys = JSON.parse(await run(t, 'keys', 'list', '--json')) as readonly Fields[]
  const id = String(keys.find(each => each.account === name)?.id)
  const call = async (method: string, path: string, body?: object | FormData) => {
    const isForm = body instanceof FormData
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    })
    return (await response.json()) as Fields
  }
  return { name, id, secret, call }
}
type Owner = Awaited<ReturnType<typeof createOwner>>

const LINES = 200
const startBatch = async ({ call }: Owner): Promise<string> => {
  const lines = Array.from({ length: LINES }, (_, at) => ({
    custom_id: `line-${at}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 },
  }))
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([lines.map(line => JSON.stringify(line)).join('\n')]), 'a.jsonl')
  const { id: input_file_id } = await call('POST', '/v1/files', form)
  const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  return String((await call('POST', '/v1/batches', body)).id)
}
const showBatch = async (t: Test, id: string): Promise<Fields> =>
  JSON.parse(await run(t, 'batches', 'show', id))
const heldBy = async (t: Test, task: string): Promise<unknown> =>
  (JSON.parse(await run(t, 'tasks', 'show', task)) as Fields).held

/** The key expires within four seconds. Resolves when it has. */
const expire = async (t: Test, { id, call }: Owner): Promise<void> => {
  const expires = `${new Date(Date.now() + 4_000).toISOString().slice(0, 19)}Z`
  await run(t, 'keys', 'update', id, '--expires', expires)
  await eventually(async () => {
    const reply = await call('POST', '/v1/chat/completions', {})
    return JSON.stringify(reply).includes('has expired') ? true : undefined
  })
}
/** The key belongs to a member, who leaves the team. */
const leave = async (t: Test, { name, id }: Owner): Promise<void> => {
  await run(t, 'members', 'invite', name, 'ben')
  await run(t, 'keys', 'update', id, '--member', 'ben')
  await run(t, 'members', 'remove', name, 'ben')
}
/** The ways in which an owner ends, and the code that the batch reports. */
const ENDS: readonly (readonly [string, (t: Test, owner: Owner) => Promise<unknown>, string])[] = [
  ['expired', expire, 'auth_expired'],
  ['revoked', (t, { id }) => run(t, 'keys', 'revoke', id), 'auth_revoked'],
  ['removed from the team', leave, 'auth_revoked'],
  ['suspended', (t, { name }) => run(t, 'accounts', 'suspend', name), 'auth_suspended'],
  ['deleted', (t, { name }) => run(t, 'accounts', 'delete', name, '--force'), 'auth_suspended'],
]

for (const [end, endOwner, code] of ENDS)
  t.test(`owner: ${end} during a batch, starts no further line`, async t => {
    const owner = await createOwner(t, `batch-${end.replaceAll(' ', '-')}`)
    closeGate()
    const id = await startBatch(owner)
    await eventually(async () => (upstream.asked.length > 0 ? true : undefined))
    await endOwner(t, owner)
    const batch = await eventually(async () => {
      const latest = await showBatch(t, id)
      return latest.state === 'cancelling' ? latest : undefined
    })
    t.match(batch.error, new RegExp(`^${code} `))
    const started = upstream.asked.length
    t.ok(started < LINES, `${started} of ${LINES} lines were under way`)
    upstream.open()
    const ended = await eventually(async () => {
      const latest = await showBatch(t, id)
      return latest.state === 'cancelled' ? latest : undefined
    })
    t.match(ended, { completed: started, failed: 0 }, 'what was under way is settled')
    t.equal(upstream.asked.length, started)
  })

const MESSAGES: Readonly<Record<string, string>> = {
  auth_expired: 'This API key or token has expired',
  auth_revoked: 'This API key or token has been revoked',
  auth_suspended: 'This account is suspended',
}
for (const [end, endOwner, code] of ENDS)
  t.test(`owner: ${end}, has no waiting task submitted, and its hold is released`, async t => {
    const owner = await createOwner(t, `tasks-${end.replaceAll(' ', '-')}`)
    closeGate()
    upstream.open()
    await run(t, 'tasks', 'pause', 'vd')
    const order = { model: 'vdq3', prompt: 'a ship', resolution: '720p', duration: 5 }
    const { task_id: id } = await owner.call('POST', '/ent/v2/text2video', order)
    t.match(id, /^\d{18}$/)
    t.ok(await heldBy(t, String(id)))
    await endOwner(t, owner)
    await run(t, 'tasks', 'resume', 'vd')
    const task = await eventually(async () => {
      const latest = JSON.parse(await run(t, 'tasks', 'show', String(id))) as Fields
      return latest.state === 'failed' ? latest : undefined
    })
    t.match(task, { error: { code: 'UserCancelled', message: MESSAGES[code] } })
    t.same(upstream.asked, [])
    t.equal(await heldBy(t, String(id)), null)
    const [balance] = JSON.parse(await run(t, 'accounts', 'list', '--all', '--json')).filter(
      (each: Fields) => String(each.name).endsWith(owner.name),
    )
    t.match(balance, { balance: '1000' })
  })

for (const [end, endOwner, code] of ENDS.filter(([, , code]) => code !== 'auth_suspended'))
  t.test(`owner: ${end}, has no background response run again after a crash`, async t => {
    const owner = await createOwner(t, `background-${end.replaceAll(' ', '-')}`)
    closeGate()
    const body = { model: 'gp-4.1', input: 'Hello', background: true, store: true }
    const { id } = await owner.call('POST', '/v1/responses', body)
    t.match(id, /^resp_/)
    await eventually(async () => (upstream.asked.length === 1 ? true : undefined))
    const other = /sk-\w+/.exec(await run(t, 'keys', 'create', owner.name, '--name', 'other')) ?? []
    await endOwner(t, owner)
    for (const pid of workersOf(gateway.pid)) process.kill(pid, 'SIGKILL')
    const response = await eventually(async () => {
      const reply = await fetch(`${gateway.url}/v1/responses/${id}`, {
        headers: { authorization: `Bearer ${other[0]}` },
      }).catch(() => undefined)
      const latest = (await reply?.json().catch(() => undefined)) as Fields | undefined
      return latest?.status === 'failed' ? latest : undefined
    })
    t.match(response, { error: { code } })
    t.equal(upstream.asked.length, 1, 'it is not sent again')
    upstream.open()
  })

/** The gateway closes a connection after an answer that its client did not wait for. */
const ignoreClosed = (error: Error): string => {
  if (error instanceof TypeError) return 'closed'
  throw error
}
/** A request whose body goes on when `rest` resolves. */
const slowForm = ({ secret }: Owner, path: string, fields: object, rest: Promise<void>) => {
  const boundary = 'slow'
  const heads = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const name = path.endsWith('/parts') ? 'data' : 'file'
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="a.txt"\r\n\r\nGood `
  const body = async function* () {
    yield Buffer.from(heads.join('') + file)
    const end = rest.then(() => true)
    // A body that is silent for long is given up.
    while (!(await Promise.race([end, pause(1_000)]))) yield Buffer.from(' ')
    yield Buffer.from(`day.\r\n--${boundary}--\r\n`)
  }
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    },
    body: ReadableStream.from(body()),
    duplex: 'half',
  } as RequestInit)
}
for (const [end, endOwner, code] of ENDS)
  t.test(`owner: ${end}, stores no file and no part, and begins none at a provider`, async t => {
    const owner = await createOwner(t, `uploads-${end.replaceAll(' ', '-')}`)
    closeGate()
    upstream.open()
    const part = new FormData()
    part.append('data', new Blob(['Good ']), 'a')
    const about = { bytes: 10, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' }
    const { id } = await owner.call('POST', '/v1/uploads', about)
    const { id: partId } = await owner.call('POST', `/v1/uploads/${id}/parts`, part)
    t.match(partId, /^part_/)
    const rest = Promise.withResolvers<void>()
    const started = [
      slowForm(owner, '/v1/files', { purpose: 'user_data' }, rest.promise),
      slowForm(owner, `/v1/uploads/${id}/parts`, {}, rest.promise),
    ].map(each => each.then(response => response.text()).catch(ignoreClosed))
    await endOwner(t, owner)
    for (const [method, path, body] of [
      ['POST', `/v1/uploads/${id}/parts`, part],
      ['POST', `/v1/uploads/${id}/complete`, { part_ids: [partId] }],
      ['POST', '/v1beta/cachedContents', { model: 'models/gx-2.5-pro', contents: [] }],
      ['POST', '/upload/v1beta/files', {}],
    ] as const)
      await eventually(async () => {
        const text = JSON.stringify(await owner.call(method, path, body))
        return text.includes('"error"') ? true : undefined
      })
    rest.resolve()
    for (const text of await Promise.all(started))
      t.match(text, new RegExp(`${MESSAGES[code]}|API key|closed`), 'an upload that was under way')
    t.same(upstream.asked, [])
  })

t.test('batches: operators list and cancel those of an account', async t => {
  const owner = await createOwner(t, 'operated')
  closeGate()
  const id = await startBatch(owner)
  await eventually(async () => (upstream.asked.length > 0 ? true : undefined))
  const rows = JSON.parse(
    await run(t, 'batches', 'list', '--account', owner.name, '--json'),
  ) as readonly Fields[]
  t.match(rows, [{ id, account_name: owner.name, state: 'in_progress', total: LINES }])
  t.match(JSON.parse(await run(t, 'batches', 'cancel', id, '--json')), [
    { id, state: 'cancelling' },
  ])
  upstream.open()
  await eventually(async () => ((await showBatch(t, id)).state === 'cancelled' ? true : undefined))
  const again = await withOutput(t, ['batches', 'cancel', id], { TOLLGATE_DATA: gateway.data })
  t.match(again, { code: 3, err: /status 'cancelled'/ })
  const bad = await withOutput(t, ['batches', 'list', '--state', 'ended'], {
    TOLLGATE_DATA: gateway.data,
  })
  t.match(bad, { code: 2, err: /--state must be one of validating/ })
})
