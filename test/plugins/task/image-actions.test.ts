/** Image queue: tasks that follow a grid: a button, a change by number, a window, and prompts and
 *  images of other kinds; each at its price, at the upstream that has the grid. */
import t from 'tap'
import { accepted, fetched, startImages } from './image-gateway.ts'

const IMAGE = 'https://files.example/cat.png'
const PIXEL = 'data:image/png;base64,AA=='
const BUTTONS = ['upsample', 'variation'].map(name => ({
  customId: `MJ::JOB::${name}::1::f00d`,
  label: name === 'upsample' ? 'U1' : 'V1',
  emoji: '',
  type: 2,
  style: 2,
}))

/** A gateway over a midjourney-proxy that gives each submit a number, and one grid that is done. */
const startGrid = async (t: Parameters<typeof startImages>[0], more = {}) => {
  const gateway = await startImages(t)
  let count = 0
  const done = { progress: '100%', imageUrl: IMAGE, buttons: BUTTONS, ...more }
  gateway.here.script = ({ method }) =>
    method === 'POST' ? accepted(`up-${++count}`) : fetched('SUCCESS', done)
  const grid = await gateway.imagine('a cat')
  const task = await gateway.reach(grid, 'SUCCESS')
  const submit = async (name: string, body: object, prefix = '') =>
    gateway.call('POST', `${prefix}/mj/submit/${name}`, body)
  const lastSubmit = () => gateway.requests.findLast(({ method }) => method === 'POST')
  return { ...gateway, grid, task, submit, lastSubmit }
}

t.test('image action: the button U1 of a grid makes a task of its own', async t => {
  const gateway = await startGrid(t)
  const { grid, task } = gateway
  t.same(task.buttons, BUTTONS)
  const [{ customId = '' } = {}] = task.buttons as typeof BUTTONS
  const { status, json } = await gateway.submit('action', { taskId: grid, customId, state: 'o-7' })
  t.equal(status, 200)
  const id = String(json.result)
  t.same(json, { code: 1, description: '成功', result: id, properties: {} })
  t.not(id, grid)
  t.match(await gateway.reach(id, 'SUCCESS'), { id, action: 'UPSCALE', imageUrl: IMAGE })
  const submit = gateway.lastSubmit()
  t.equal(submit?.path, '/mj/submit/action')
  t.same(submit?.body, { taskId: 'up-1', customId, state: 'o-7' }, 'the id of the upstream')
  t.equal(submit?.key, gateway.requests[0]?.key, 'the key that has the grid')
  t.equal(await gateway.spent(), 150_000_000n, '0.1 and 0.05')
  t.same(await gateway.findings(), [])
})

t.test('image actions: each has its price, by its button, number or endpoint', async t => {
  const gateway = await startGrid(t, { prompt: '1. a cat', properties: { finalPrompt: 'cats' } })
  const taskId = gateway.grid
  const button = (name: string) => ({ taskId, customId: `MJ::${name}::1::f00d` })
  const CASES = [
    ['action', button('JOB::variation'), 'VARIATION', 100n],
    ['action', button('JOB::upsample_v6_2x_subtle'), 'UPSCALE', 50n],
    ['action', button('JOB::pan_left'), 'PAN', 100n],
    ['action', button('Outpaint::50'), 'ZOOM', 100n],
    ['action', button('JOB::animate_high'), 'ACTION', 100n],
    ['change', { taskId, action: 'UPSCALE', index: 2 }, 'UPSCALE', 50n],
    ['change', { taskId, action: 'REROLL' }, 'REROLL', 100n],
    ['blend', { base64Array: [PIXEL, PIXEL] }, 'BLEND', 100n],
    ['describe', { base64: PIXEL }, 'DESCRIBE', 50n],
    ['shorten', { prompt: 'a very long prompt' }, 'SHORTEN', 100n],
  ] as const
  for (const [name, body, action, price] of CASES) {
    const before = await gateway.spent()
    const { json } = await gateway.submit(name, body)
    t.match(await gateway.reach(String(json.result), 'SUCCESS', 'FAILURE'), {
      status: 'SUCCESS',
      action,
    })
    t.equal((await gateway.spent()) - before, price * 1_000_000n, `${name} ${action}`)
    t.equal(gateway.lastSubmit()?.path, `/mj/submit/${name}`)
  }
  const turbo = { taskId, action: 'VARIATION', index: 1 }
  const before = await gateway.spent()
  const { json } = await gateway.submit('change', turbo, '/mj-turbo')
  await gateway.reach(String(json.result), 'SUCCESS')
  t.equal((await gateway.spent()) - before, 200_000_000n, 'the mode of the path')
  t.match(await gateway.submit('change', turbo, '/mj-none'), { status: 404 })
  t.same(await gateway.findings(), [])
})

t.test('image window: the first call is free, the modal that answers it is charged', async t => {
  const gateway = await startGrid(t)
  const before = await gateway.spent()
  const customId = 'MJ::Inpaint::1::f00d::SOLO'
  const opened = await gateway.submit('action', { taskId: gateway.grid, customId })
  t.match(opened.json, { code: 21, result: /^\d+$/ })
  const window = String(opened.json.result)
  const modal = { taskId: window, prompt: 'a hat --fast', maskBase64: PIXEL }
  const { json } = await gateway.submit('modal', modal)
  t.match(await gateway.reach(String(json.result), 'SUCCESS'), { action: 'MODAL', prompt: /hat/ })
  t.same(gateway.lastSubmit()?.body, { taskId: 'up-2', prompt: 'a hat', maskBase64: PIXEL })
  await gateway.reach(window, 'SUCCESS')
  t.equal((await gateway.spent()) - before, 100_000_000n)
  t.same(await gateway.findings(), [])
})

t.test('image describe: an answer with texts alone is a success, no answer is not', async t => {
  const gateway = await startImages(t)
  let texts = {}
  gateway.here.script = ({ method }) =>
    method === 'POST' ? accepted('up-1') : fetched('SUCCESS', texts)
  const describe = async () => {
    const { json } = await gateway.call('POST', '/mj/submit/describe', { base64: PIXEL })
    return gateway.reach(String(json.result), 'SUCCESS', 'FAILURE')
  }
  texts = { prompt: '1. a cat\n2. a dog' }
  t.match(await describe(), { status: 'SUCCESS', prompt: '1. a cat\n2. a dog', imageUrl: null })
  t.equal(await gateway.spent(), 50_000_000n)
})

t.test('image action: of an unknown, foreign or failed task is refused', async t => {
  const gateway = await startGrid(t)
  const change = (taskId: string, headers = {}) =>
    gateway.call('POST', '/mj/submit/change', { taskId, action: 'UPSCALE', index: 1 }, headers)
  const missing = { status: 404, json: { description: 'task not found' } }
  t.match(await change('1'), missing)
  const free = { taskId: gateway.grid, customId: 'MJ::Inpaint::1::f00d' }
  const foreign = await gateway.call('POST', '/mj/submit/action', free, { account: '2' })
  t.match(foreign, missing, 'that of another account')
  gateway.here.script = ({ method }) =>
    method === 'POST' ? { json: { code: 24, description: 'banned' } } : fetched('IN_PROGRESS')
  const failed = await gateway.imagine('bad')
  await gateway.reach(failed, 'FAILURE')
  t.match(await change(failed), { status: 400, json: { description: /cannot be used: it failed/ } })
  t.equal(await gateway.spent(), 100_000_000n)
  t.same(await gateway.findings(), [])
})

t.test('image tasks: list-by-condition has those that are asked for', async t => {
  const gateway = await startGrid(t)
  const other = await gateway.imagine('a dog')
  await gateway.reach(other, 'SUCCESS')
  const list = async (ids: readonly string[], headers = {}) =>
    (await gateway.call('POST', '/mj/task/list-by-condition', { ids }, headers)).json
  t.match(await list([gateway.grid]), [{ id: gateway.grid, buttons: BUTTONS }])
  t.equal(Number((await list([gateway.grid, other, '7'])).length), 2)
  t.same(await list([gateway.grid], { account: '2' }), [])
})
