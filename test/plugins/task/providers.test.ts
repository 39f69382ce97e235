/** Providers of other shapes, described in YAML alone: paths and bodies, where the id, the state
 *  and the results are, `find`, an upstream that announces changes, and what check reports. */
import t from 'tap'
import task from '../../../plugins/task/index.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { PRICE, startTasks, statesOf } from './task-gateway.ts'

t.test('provider: its id is in a header, and its state is a truth value', async t => {
  const gateway = await startTasks(t, 'sqlite', {
    submit: { id: 'header:Location', path: '/jobs' },
    poll: {
      path: 'GET /jobs/{id}',
      every: '20ms..40ms',
      state: '/done',
      states: { false: 'running', true: 'succeeded' },
      results: '/output',
    },
  })
  let polls = 0
  gateway.here.script = ({ method, path }) => {
    if (method === 'POST') return { status: 202, headers: { location: '/jobs/job-5?wait=1' } }
    t.equal(path, '/jobs/job-5')
    return polls++ < 2 ? { json: { done: false } } : { json: { done: true, output: 'https://a/b' } }
  }
  const { json } = await gateway.create()
  const { creations } = await gateway.reach(String(json.task_id), 'success')
  t.same(creations, [{ url: 'https://a/b' }])
  t.equal(await gateway.spent(), PRICE)
})

t.test('provider: its states are other words, and another call has the results', async t => {
  const gateway = await startTasks(t, 'sqlite', {
    submit: { id: '/data/job/id', path: '/v1/generate' },
    poll: {
      path: 'GET /v1/status?job={id}',
      every: '20ms..40ms',
      state: '/data/job/phase',
      states: { 'In Queue': 'submitted', Rendering: 'running', Done: 'succeeded', Oops: 'failed' },
      progress: '/data/job/percent',
      error: { code: '/data/job/why' },
      results: '/files/0/link',
      results_path: 'GET /v1/results/{id}',
    },
  })
  const phases = ['In Queue', 'Rendering', 'Done']
  let failures = 1
  gateway.here.script = ({ method, path }) => {
    if (method === 'POST') return { json: { data: { job: { id: 17 } } } }
    if (path === '/v1/results/17')
      return failures-- > 0
        ? { status: 503 }
        : { json: { files: [{ link: 'https://files.example/17.mp4' }] } }
    const phase = phases.length > 1 ? phases.shift() : phases[0]
    return { json: { data: { job: { phase: phase ?? 'Done', percent: 50 } } } }
  }
  const { json } = await gateway.create()
  const { creations } = await gateway.reach(String(json.task_id), 'success')
  t.same(creations, [{ url: 'https://files.example/17.mp4' }])
  const calls = gateway.requests.filter(({ path }) => path === '/v1/results/17')
  t.equal(calls.length, 2, 'the results are asked for again')
  t.equal(await gateway.spent(), PRICE)
  t.same(await gateway.findings(), [])
})

t.test('provider: its failure is found in its own words', async t => {
  const gateway = await startTasks(t, 'sqlite', {
    submit: { id: '/id' },
    poll: {
      path: 'GET /status/{id}',
      every: '20ms..40ms',
      state: '/phase',
      states: { Oops: 'failed' },
      error: { code: '/why' },
      results: '/files',
    },
  })
  gateway.here.script = ({ method }) =>
    method === 'POST' ? { json: { id: 'x' } } : { json: { phase: 'Oops', why: 'TooDark' } }
  const { json } = await gateway.create()
  t.match(await gateway.reach(String(json.task_id), 'failed'), { err_code: 'TooDark' })
  t.equal(await gateway.spent(), 0n)
})

const NOTICED = {
  submit: { id: '/task_id', callback: '/notify/url' },
  poll: {
    path: 'GET /poll/{id}',
    every: '1h',
    state: '/state',
    states: { success: 'succeeded' },
    results: '/creations',
  },
}
t.test('provider: a task is polled at once when its upstream announces a change', async t => {
  const gateway = await startTasks(t, 'sqlite', NOTICED)
  let state = 'processing'
  gateway.here.script = ({ method }) =>
    method === 'POST'
      ? { json: { task_id: 'up-1' } }
      : { json: { state, creations: ['https://a/b'] } }
  const { json } = await gateway.create()
  const id = String(json.task_id)
  await gateway.reach(id, 'queueing')
  const { url } = (gateway.requests[0]?.body.notify ?? {}) as { readonly url?: string }
  const path = new URL(String(url)).pathname
  const notify = async (to: string) => {
    const response = await fetch(`${gateway.gatewayUrl}${to}`, {
      method: 'POST',
      body: '{"state":"success"}',
    })
    return response.status
  }
  t.equal(await notify(path), 200)
  t.equal((await gateway.query(id)).json.state, 'queueing', 'what a notice says is not read')
  t.equal(await notify(path.replace(/\.(.)/, '.$1x')), 404, 'a forged one')
  t.equal(await notify('/task-changes/1'), 404)
  state = 'success'
  t.equal(await notify(path), 200)
  await gateway.reach(id, 'success')
  t.equal(await notify(path), 200, 'a repeated one changes nothing')
  t.equal(await gateway.spent(), PRICE)
  t.same(await gateway.findings(), [])
})

t.test('provider: tollgate check reports notices that no route takes', async t => {
  const problems: string[] = []
  const routes = [{ path: 'POST /a', task: NOTICED }]
  task.check({ routes } as never, (where, code) => problems.push(`${where.join('.')} ${code}`))
  t.same(problems, ['routes.0.task.submit.callback NOTICES_UNSERVED'])
})

t.test('task: an upstream without subjects gets their images', async t => {
  const gateway = await startTasks(t)
  const subjects = [
    { id: 'a', images: ['https://x/1'] },
    { id: 'b', images: ['https://x/2'] },
  ]
  await gateway.create({ subjects })
  await gateway.create({ model: 'mixed', subjects })
  const submits = () => gateway.requests.filter(({ method }) => method === 'POST')
  await eventually(async () => submits().length === 2 || undefined)
  const [whole, flat] = submits().toSorted((a, b) =>
    String(a.body.model).localeCompare(String(b.body.model)),
  )
  t.same([whole?.body.subjects, whole?.body.images], [subjects, undefined])
  t.same([flat?.body.subjects, flat?.body.images], [undefined, ['https://x/1', 'https://x/2']])
})

t.test('task: a seed of 0 or none is random, the same in the answer and upstream', async t => {
  const gateway = await startTasks(t)
  for (const [seed, expected] of [[undefined], [0], ['0'], ['77', 77], [5, 5]] as const) {
    const { json } = await gateway.create({ seed })
    if (expected === undefined) t.ok(Number(json.seed) > 0, String(json.seed))
    else t.equal(json.seed, expected)
    await gateway.reach(String(json.task_id), 'success')
    const submit = gateway.requests.findLast(({ method }) => method === 'POST')
    t.equal(submit?.body.seed, json.seed)
  }
})

t.test('task: another provider is described by its options alone', async t => {
  const submit = { id: '/data/number', path: '/v3/jobs' }
  const poll = {
    path: 'GET /v3/jobs/{id}',
    every: '20ms',
    state: '/job/status~1now',
    states: { Working: 'running', 'Ended OK': 'succeeded', Broken: 'failed' },
    results: '/output/files',
  }
  const gateway = await startTasks(t, 'sqlite', { submit, poll })
  let polls = 0
  gateway.here.script = ({ method, path }) => {
    if (method === 'POST') return { json: { data: { number: 77 }, request: path } }
    const isDone = ++polls > 2
    const output = { files: ['https://files.example/1', 'https://files.example/2'] }
    return { json: { job: { 'status/now': isDone ? 'Ended OK' : 'Working' }, output } }
  }
  const id = String((await gateway.create()).json.task_id)
  const { creations } = await gateway.reach(id, 'success')
  t.same(creations, [{ url: 'https://files.example/1' }, { url: 'https://files.example/2' }])
  const [first, second] = gateway.requests
  t.equal(first?.path, '/v3/jobs')
  t.equal(second?.path, '/v3/jobs/77')
})

const FIND = {
  submit: { id: '/task_id', own_id: '/meta/client' },
  find: { path: 'GET /ent/v2/tasks?client={task}', id: '/tasks/0/id' },
}
t.test('task: with `find` a submit whose answer was lost is found by its own id', async t => {
  const gateway = await startTasks(t, 'sqlite', FIND)
  const poll = statesOf('success')
  gateway.here.script = (request, count) => {
    if (request.method === 'POST') return { cut: true }
    if (!request.path.includes('?client=')) return poll(request, count)
    return request.path.endsWith(sentId()) ? { json: { tasks: [{ id: 'up-7' }] } } : { status: 404 }
  }
  const sentId = (): string => {
    const [submit] = gateway.requests
    const { client } = (submit?.body.meta ?? {}) as { readonly client?: string }
    return client ?? 'none'
  }
  const { json } = await gateway.create()
  await gateway.reach(String(json.task_id), 'success')
  t.equal(sentId(), json.task_id)
  t.match(await gateway.rows('SELECT upstream_id, attempts FROM tasks'), [
    { upstream_id: 'up-7', attempts: 1 },
  ])
  t.equal(await gateway.spent(), PRICE)
  t.same(await gateway.findings(), [])
})

t.test('task: with `find` one that the upstream does not know is submitted again', async t => {
  const gateway = await startTasks(t, 'sqlite', FIND)
  const poll = statesOf('success')
  let hasFailed = false
  gateway.here.script = (request, count) => {
    if (request.path.includes('?client=')) return hasFailed ? { json: { tasks: [] } } : failOnce()
    if (request.method === 'POST' && count === 1) return { status: 500 }
    return poll(request, count)
  }
  const failOnce = () => {
    hasFailed = true
    return { status: 502 }
  }
  const { json } = await gateway.create()
  await gateway.reach(String(json.task_id), 'success')
  const questions = gateway.requests.filter(({ path }) => path.includes('?client='))
  t.equal(questions.length, 6, 'it is asked until it has said no five times')
  t.equal(gateway.requests.filter(({ method }) => method === 'POST').length, 2)
  t.equal(await gateway.spent(), PRICE)
})

for (const [title, absent, submits] of [
  ['is not repeated while the look-up is 404', undefined, 1],
  ['is repeated if `absent` says that 404 means unknown', 404, 2],
] as const)
  t.test(`task: with \`find\` a submit ${title}`, async t => {
    const gateway = await startTasks(t, 'sqlite', { ...FIND, find: { ...FIND.find, absent } })
    const poll = statesOf('success')
    const count = { lookUps: 0, submits: 0 }
    gateway.here.script = (request, number) => {
      if (request.path.includes('?client=')) {
        count.lookUps++
        return { status: 404 }
      }
      if (request.method === 'POST' && ++count.submits === 1) return { cut: true }
      return poll(request, number)
    }
    const { json } = await gateway.create()
    if (absent !== undefined) await gateway.reach(String(json.task_id), 'success')
    await eventually(async () => (count.lookUps > 4 ? true : undefined))
    // Two more answers show that it is only looked for.
    if (absent === undefined) await eventually(async () => (count.lookUps > 6 ? true : undefined))
    t.equal(count.submits, submits)
  })

t.test('tasks: tollgate check reports paths that do not name the task', async t => {
  const problems: string[] = []
  const paths = {
    submit: { id: '/id', path: '/{model}:run', with: { image: { path: '/{modle}:run' } } },
    find: { path: 'GET /tasks?client={id}', id: '/id' },
    poll: { path: 'GET /tasks', results_path: 'GET /tasks/{job}' },
    cancel: { path: 'POST /tasks/{id}/cancel' },
  }
  const document = { upstreams: {}, routes: [{ path: 'POST /a', task: paths }] }
  task.check(document as unknown as Parameters<typeof task.check>[0], (where, code, message) =>
    problems.push(`${where.slice(3).join('.')} ${code} ${message}`),
  )
  t.same(problems, [
    'find.path TASK_PATH this path has the placeholder {id}; write {task} where the id of the task is',
    'poll.path TASK_PATH this path names no task; write {id} or {task} where the id of the task is',
    'poll.results_path TASK_PATH this path has the placeholder {job}; write {id} or {task} where the id of the task is',
    'submit.with.image.path TASK_PATH this path has the placeholder {modle}; only {model} is replaced in it',
  ])
})

t.test('task: a submit has the path and the body that its options describe', async t => {
  const images = ['/image/url', '/last']
  const body = { model: '/model', text: '/prompt', seconds: '/duration', style: '/style' }
  const form = { path: '/v3/from-image', body: { model: '/model', images } }
  const submit = { id: '/task_id', path: '/v3/from-text', body, with: { image: form } }
  const gateway = await startTasks(t, 'sqlite', { submit })
  await gateway.create()
  await gateway.create({ image: { url: 'https://a/1' } })
  await gateway.create({ image: {} })
  const submits = await eventually(async () => {
    const list = gateway.requests.filter(({ method }) => method === 'POST')
    return list.length === 3 ? list : undefined
  })
  const requests = submits.map(({ path, body }) => JSON.stringify([path, body]))
  t.same(
    requests.toSorted(),
    [
      ['/v3/from-image', { model: 'viduclip' }],
      ['/v3/from-image', { model: 'viduclip', images: ['https://a/1'] }],
      ['/v3/from-text', { model: 'viduclip', text: 'a cat', seconds: 5 }],
    ]
      .map(each => JSON.stringify(each))
      .toSorted(),
  )
})

t.test('tasks: a model of another upstream is not served on the route', async t => {
  const gateway = await startTasks(t, 'sqlite', { upstreams: ['elsewhere'] })
  const { status, json } = await gateway.create()
  t.equal(status, 400)
  t.match(json, { reason: 'ModelUnavailable', message: 'model unavailable' })
  t.equal(gateway.requests.length, 0)
  t.equal(await gateway.spent(), 0n)
  t.same(await gateway.findings(), [])
})

t.test('tasks: tollgate check reports unknown upstreams, and forms as tasks', async t => {
  const problems: string[] = []
  const routes = [
    { path: 'POST /a', task: { upstreams: ['vd', 'vb'] } },
    { path: 'POST /b' },
    { path: 'POST /c', form: {}, task: { call: {} } },
  ]
  const document = { upstreams: { vd: {} }, routes } as unknown as Parameters<typeof task.check>[0]
  task.check(document, (where, code, message, suggestion) =>
    problems.push(`${where.join('.')} ${code} ${message} -> ${suggestion}`),
  )
  t.same(problems, [
    'routes.0.task.upstreams.1 UNKNOWN_UPSTREAM no upstream is named "vb" -> vd',
    'routes.2.task.call FORM_AS_TASK a form cannot run as a task; remove `task` or `form` -> undefined',
  ])
})
