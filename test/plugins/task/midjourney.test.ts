/** The image queue over a scripted midjourney-proxy: bodies, codes of refused submits, modes and
 *  their prices, callbacks. */
import t from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startReceiver, trustReceivers } from '../../helpers/money/receiver.ts'
import { ENGINES } from '../../helpers/store/store.ts'
import { accepted, fetched, type ModeName, PRICES, startImages } from './image-gateway.ts'
import { KEY } from './task-gateway.ts'

trustReceivers()

const IMAGE = 'https://files.example/cat.png'

for (const engine of ENGINES)
  t.test(`image task on ${engine}: shows each status as midjourney-proxy does`, async t => {
    const gateway = await startImages(t, engine)
    let answer = fetched('NOT_START', { progress: '0%' })
    gateway.here.script = ({ method }) => (method === 'POST' ? accepted('up-1') : answer)
    const before = Date.now()
    const { status, json } = await gateway.call('POST', '/mj/submit/imagine', {
      prompt: '猫 --ar 2:1',
      state: 'order 7',
      base64Array: ['data:image/png;base64,AA=='],
      botType: 'NIJI_JOURNEY',
    })
    t.equal(status, 200)
    const id = String(json.result)
    t.match(id, /^\d{18}$/)
    t.same(json, { code: 1, description: '成功', result: id, properties: {} })
    const {
      submitTime,
      startTime,
      finishTime: none,
      ...submitted
    } = await gateway.reach(id, 'SUBMITTED')
    t.equal(none, null)
    t.same(submitted, {
      id,
      action: 'IMAGINE',
      prompt: '猫 --ar 2:1',
      promptEn: '猫 --ar 2:1',
      description: '/imagine 猫 --ar 2:1',
      state: 'order 7',
      imageUrl: null,
      status: 'SUBMITTED',
      progress: '0%',
      failReason: null,
      buttons: [],
      properties: {},
    })
    answer = fetched('IN_PROGRESS', { progress: '45%', imageUrl: 'https://files.example/half.png' })
    const running = await eventually(async () => {
      const task = await gateway.fetchTask(id)
      return task.progress === '45%' ? task : undefined
    })
    t.match(running, { status: 'IN_PROGRESS', imageUrl: null, submitTime, startTime })
    t.equal(await gateway.spent(), 0n)
    answer = fetched('SUCCESS', {
      progress: '100%',
      imageUrl: IMAGE,
      promptEn: 'cat --ar 2:1',
      properties: { finalPrompt: 'cat --ar 2:1 --v 6', discordInstanceId: '7' },
    })
    const { finishTime, ...done } = await gateway.reach(id, 'SUCCESS')
    t.same(done, {
      ...submitted,
      submitTime,
      startTime,
      promptEn: 'cat --ar 2:1',
      imageUrl: IMAGE,
      status: 'SUCCESS',
      progress: '100%',
      properties: { finalPrompt: 'cat --ar 2:1 --v 6' },
    })
    const times = [before, submitTime, startTime, finishTime, Date.now()].map(Number)
    t.same(
      times,
      times.toSorted((one, other) => one - other),
    )
    t.equal(await gateway.spent(), PRICES.fast)
    t.same(await gateway.findings(), [])
    const [submit] = gateway.requests
    t.same(submit?.body, {
      prompt: '猫 --ar 2:1',
      state: 'order 7',
      base64Array: ['data:image/png;base64,AA=='],
      botType: 'NIJI_JOURNEY',
    })
  })

t.test('image task: fails with the reason of the upstream and costs nothing', async t => {
  const gateway = await startImages(t)
  gateway.here.script = ({ method }) =>
    method === 'POST'
      ? accepted('up-1')
      : fetched('FAILURE', { failReason: '[Invalid parameter] ar', progress: '10%' })
  const id = await gateway.imagine('a cat')
  const failed = await gateway.reach(id, 'FAILURE')
  t.match(failed, { failReason: '[Invalid parameter] ar', progress: '100%', imageUrl: null })
  t.type(failed.finishTime, 'number')
  t.equal(await gateway.spent(), 0n)
  t.same(await gateway.findings(), [])
})

t.test('image task: each code in the answer to a submit has its meaning', async t => {
  const gateway = await startImages(t)
  const refuse = (code: number, description: string, more = {}) => ({
    json: { code, description, ...more },
  })
  const SUBMITS: Readonly<Record<string, readonly object[]>> = {
    exists: [accepted('up-exists', 21, { status: 'SUCCESS', imageUrl: IMAGE })],
    queued: [accepted('up-queued', 22, { numberOfQueues: 3 })],
    full: [
      refuse(23, '队列已满', { result: 'no-id' }),
      refuse(23, '队列已满'),
      accepted('up-full'),
    ],
    accounts: [refuse(3, '无可用的账号实例'), accepted('up-accounts')],
    saturated: [
      { status: 429, ...refuse(30, '当前分组负载已饱和', { type: 'upstream_error' }) },
      accepted('up-saturated'),
    ],
    banned: [refuse(24, '可能包含敏感词', { properties: { bannedWord: 'x' } })],
    invalid: [refuse(4, 'prompt不能为空')],
    other: [{ status: 400, ...refuse(4, 'invalid_request', { type: 'upstream_error' }) }],
    poor: [{ status: 403, ...refuse(4, 'quota_not_enough', { type: 'upstream_error' }) }],
    silent: [{ json: {} }],
    anonymous: [refuse(1, '提交成功')],
  }
  const counts = new Map<string, number>()
  gateway.here.script = ({ method, path, body: { prompt } }) => {
    const name = String(prompt)
    if (method === 'GET') return fetched('SUCCESS', { imageUrl: `https://files.example${path}` })
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    return SUBMITS[name]?.[count] ?? { status: 500 }
  }
  const names = Object.keys(SUBMITS)
  const ids = new Map<string, string>()
  for (const name of names) ids.set(name, await gateway.imagine(name))
  const end = (name: string, ...statuses: readonly string[]) =>
    gateway.reach(ids.get(name) ?? '', ...statuses)
  for (const name of ['exists', 'queued', 'full', 'accounts', 'saturated'])
    t.match(await end(name, 'SUCCESS', 'FAILURE'), {
      status: 'SUCCESS',
      imageUrl: `https://files.example/mj/task/up-${name}/fetch`,
    })
  for (const [name, failReason] of [
    ['banned', '可能包含敏感词'],
    ['invalid', 'prompt不能为空'],
    ['other', 'invalid_request'],
    ['poor', 'the service could not run this task'],
  ] as const)
    t.match(await end(name, 'SUCCESS', 'FAILURE'), { status: 'FAILURE', failReason }, name)
  // Whether the upstream has these is unknown: their money stays held.
  for (const name of ['silent', 'anonymous'])
    t.match(await end(name, 'IN_PROGRESS'), { failReason: null }, name)
  const unknown = await gateway.rows("SELECT count(*) AS n FROM tasks WHERE state = 'unknown'")
  t.equal(Number(unknown[0]?.n), 2)
  t.equal(await gateway.spent(), 5n * PRICES.fast)
  t.same(
    names.map(name => counts.get(name)),
    names.map(name => SUBMITS[name]?.length),
    'each is submitted again only where the upstream surely refused it for now',
  )
  t.same(await gateway.findings(), [])
})

t.test('image modes: have their paths at the upstream, their prices and no other', async t => {
  const gateway = await startImages(t)
  gateway.here.script = ({ method, body }) =>
    method === 'POST' ? accepted(`up-${body.state}`) : fetched('SUCCESS', { imageUrl: IMAGE })
  let spent = 0n
  for (const [prefix, mode] of [
    ['', 'fast'],
    ['/mj-fast', 'fast'],
    ['/mj-turbo', 'turbo'],
    ['/mj-relax', 'relax'],
  ] as const satisfies readonly (readonly [string, ModeName])[]) {
    gateway.requests.length = 0
    const state = `${mode}${prefix.length}`
    const prompt = 'a cat --turbo, --relaxed --ar 1:1 —relax --FAST\n--turbo'
    const id = await gateway.imagine(prompt, { state, accountFilter: 'none' }, prefix)
    t.match(await gateway.reach(id, 'SUCCESS'), { prompt })
    const { json } = await gateway.call('GET', `${prefix}/mj/task/${id}/fetch`)
    t.match(json, { id, status: 'SUCCESS' }, 'each prefix shows the task')
    const [submit, ...polls] = gateway.requests
    t.equal(submit?.path, `${prefix}/mj/submit/imagine`)
    t.equal(submit?.body.prompt, 'a cat , --relaxed --ar 1:1', 'the path sets the mode')
    t.ok(polls.length > 0)
    t.ok(polls.every(({ path }) => path === `${prefix}/mj/task/up-${state}/fetch`))
    spent += PRICES[mode]
    t.equal(await gateway.spent(), spent, `${prefix} costs ${PRICES[mode]}`)
  }
  const charges = await gateway.rows('SELECT model FROM charges ORDER BY opened')
  t.same(
    charges.map(({ model }) => model),
    ['mj-fast', 'mj-fast', 'mj-turbo', 'mj-relax'],
  )
})

t.test('image callbacks: have the body of a fetch, once for each status, signed', async t => {
  const gateway = await startImages(t)
  const receiver = await startReceiver(t)
  gateway.here.script = ({ method }) => {
    if (method === 'POST') return accepted('up-1')
    return receiver.received.length < 2 && !receiver.received.at(-1)?.body.includes('IN_PROGRESS')
      ? fetched('IN_PROGRESS', { progress: '7%' })
      : fetched('SUCCESS', { imageUrl: IMAGE })
  }
  const id = await gateway.imagine('a cat', { notifyHook: `${receiver.origin}/hook?order=7` })
  const isLast = () => receiver.received.at(-1)?.body.includes('SUCCESS') || undefined
  await eventually(isLast)
  const bodies = receiver.received.map(({ body }) => JSON.parse(body))
  t.same(bodies.at(-1), await gateway.fetchTask(id))
  const statuses = bodies.map(({ status }) => status)
  t.match(statuses.join(' '), /^(?:SUBMITTED )?IN_PROGRESS SUCCESS$/)
  for (const { method, url, headers } of receiver.received) {
    t.same([method, url], ['POST', '/hook?order=7'])
    t.match(headers, { 'x-hmac-access-key': 'midjourney', 'x-hmac-signature': /^[\w+/]{43}=$/ })
  }
  t.notOk('notifyHook' in (gateway.requests[0]?.body ?? {}), 'the upstream does not get the URL')
  t.notMatch(gateway.lines.join('\n'), new RegExp(`${KEY}|order=7`))
  for (const notifyHook of ['http://10.0.0.1/hook', 'ftp://files.example/x', 7])
    t.match(await gateway.call('POST', '/mj/submit/imagine', { prompt: 'x', notifyHook }), {
      status: 400,
      json: { code: 4, type: 'gateway_error', description: /^invalid field: notifyHook: ./ },
    })
})

t.test('image tasks: are apart from video tasks, and listed as bare arrays', async t => {
  const gateway = await startImages(t)
  gateway.here.script = ({ method, path, body }) => {
    if (method === 'POST') return { json: { code: 1, result: body.prompt ?? '', task_id: 'video' } }
    if (path.startsWith('/ent')) return { json: { state: 'processing', creations: [] } }
    return path.includes('done') ? fetched('SUCCESS', { imageUrl: IMAGE }) : fetched('IN_PROGRESS')
  }
  const video = String((await gateway.create()).json.task_id)
  const done = await gateway.imagine('done')
  const open = await gateway.imagine('open', {}, '/mj-relax')
  await gateway.reach(done, 'SUCCESS')
  await gateway.reach(open, 'IN_PROGRESS')
  const listOf = async (path: string) => (await gateway.call('GET', path)).json
  t.match(await listOf('/mj/task/list'), [{ id: open }, { id: done }])
  t.match(await listOf('/mj/task/queue'), [{ id: open, status: 'IN_PROGRESS' }])
  const videos = (await gateway.call('GET', '/ent/v2/tasks')).json.tasks as readonly object[]
  t.same(
    videos.map(each => Object(each).id),
    [video],
  )
  const missing = { description: 'task not found', type: 'gateway_error', code: 3 }
  for (const id of [video, '1', 'x'])
    t.same(await gateway.call('GET', `/mj/task/${id}/fetch`), { status: 404, json: missing }, id)
  const other = { account: '2' }
  const { status, json } = await gateway.call('GET', `/mj/task/${done}/fetch`, undefined, other)
  t.same([status, json], [404, missing], 'that of another account')
  t.match(await gateway.query(done), { status: 404, json: { reason: 'TaskNotFound' } })
})

t.test('image task: is created once for an Idempotency-Key', async t => {
  const gateway = await startImages(t)
  gateway.here.script = ({ method }) =>
    method === 'POST' ? accepted('up-1') : fetched('IN_PROGRESS')
  const headers = { 'idempotency-key': 'order-7' }
  const create = (prompt: string) => gateway.call('POST', '/mj/submit/imagine', { prompt }, headers)
  const first = await create('a cat')
  t.same(await create('a cat'), first)
  t.match(await create('a dog'), { status: 422, json: { type: 'gateway_error', code: 4 } })
  await gateway.reach(String(first.json.result), 'IN_PROGRESS')
  t.equal(gateway.requests.filter(({ method }) => method === 'POST').length, 1)
})

t.test('image task: its image is copied where the route says so', async t => {
  const gateway = await startImages(t, 'sqlite', undefined, { results: 'copy' })
  const bytes = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(100, 7)])
  const done = fetched('SUCCESS', { progress: '100%', imageUrl: `${gateway.url}/cat.png` })
  gateway.here.script = ({ method, path }) => {
    if (path === '/cat.png') return { file: bytes }
    return method === 'POST' ? accepted('up-1') : done
  }
  const { imageUrl } = await gateway.reach(await gateway.imagine('cat'), 'SUCCESS')
  t.match(imageUrl, /\/files\/file-/)
  const response = await gateway.fetchFile(String(imageUrl))
  t.equal(response.headers.get('content-type'), 'image/png')
  t.same(Buffer.from(await response.arrayBuffer()), bytes)
  t.equal(await gateway.spent(), PRICES.fast)
  t.same(await gateway.findings(), [])
})
