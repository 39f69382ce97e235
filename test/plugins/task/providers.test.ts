/** Providers of other shapes, described in YAML alone: where the id, the state and the results are,
 *  and an upstream that announces changes. */
import t from 'tap'
import task from '../../../plugins/task/index.ts'
import { PRICE, startTasks } from './task-gateway.ts'

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
