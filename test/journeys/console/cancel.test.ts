/** Tasks and batches cancelled in a browser: the upstream is told, no further request follows, and
 *  the ledger holds and charges nothing for what did not run. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

const LINES = 60

/** Queues every clip until it is cancelled, and answers chats when the test lets it. */
const startUpstream = async (t: Pick<Test, 'teardown'>) => {
  const requests: string[] = []
  const release = Promise.withResolvers<void>()
  let isCancelled = false
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    for await (const _ of request);
    requests.push(`${request.method} ${path}`)
    if (path.includes('completions')) await release.promise
    if (path.endsWith('/cancel')) isCancelled = true
    const task = { task_id: 'up-1', state: isCancelled ? 'failed' : 'queueing', creations: [] }
    const message = { role: 'assistant', content: 'Hello.' }
    const chat = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4.1',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(path.includes('completions') ? chat : task))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, requests, release: release.resolve }
}

t.test('cancel in a browser', { skip: missingBrowser }, async t => {
  const upstream = await startUpstream(t)
  const env = {
    VIDU_BASE_URL: upstream.url,
    VIDU_API_KEY: 'test',
    OPENAI_BASE_URL: upstream.url,
    OPENAI_API_KEY: 'test',
  }
  const [gateway, browser] = await Promise.all([startConsole(t, { env }), startBrowser(t)])
  const ann = await gateway.customer('ann', 100)
  const operator = await gateway.signIn({ token: gateway.token })
  const { body: key } = await ann.ask('POST', '/api/keys', { name: 'calls' })
  const headers = { authorization: `Bearer ${key.data.key}` }
  const wallet = async () => (await ann.ask('GET', '/api/user/info')).body.data
  const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
  const dialog = page.getByRole('dialog')

  t.test('task: asked once, cancelled at the upstream, its hold returned', async t => {
    const clip = { model: 'vdq3', prompt: 'A tree', duration: 1, resolution: '540p' }
    const { body } = await gateway.ask('POST', '/ent/v2/text2video', clip, headers)
    const id = String((body as unknown as { task_id: string }).task_id)
    const read = async () => (await ann.ask('GET', `/api/tasks/${id}`)).body.data
    await eventually(async () => (await read()).state === 'submitted')
    t.ok(Number((await wallet()).held) > 0)
    await open(`task/${id}`)
    await page.getByRole('button', { name: 'Cancel the task' }).click()
    await dialog.getByText(`Cancel task ${id}?`).waitFor()
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    t.notOk(
      upstream.requests.some(each => each.endsWith('/cancel')),
      'until it is confirmed',
    )
    await page.getByRole('button', { name: 'Cancel the task' }).click()
    await dialog.getByRole('button', { name: 'Cancel the task' }).click()
    await page.locator('dl').getByText('failed').waitFor()
    await page.getByRole('button', { name: 'Cancel the task' }).waitFor({ state: 'detached' })
    t.ok(upstream.requests.includes('POST /ent/v2/tasks/up-1/cancel'))
    t.match(await read(), { state: 'failed', error: { code: /cancel/i } })
    t.match(await wallet(), { balance: 100, held: 0 })
    const { body: charges } = await operator.ask('GET', '/api/admin/charges?account=ann')
    t.match(charges.data, [{ task: id, state: 'released', cost: '0' }])
  })

  t.test('batch: asked once, sends no further requests, charges those that were sent', async t => {
    const before = Number((await wallet()).balance)
    const line = (index: number) => ({
      custom_id: String(index),
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] },
    })
    const form = new FormData()
    form.set('purpose', 'batch')
    const text = Array.from({ length: LINES }, (_, index) => JSON.stringify(line(index))).join('\n')
    form.set('file', new Blob([`${text}\n`]), 'requests.jsonl')
    const file = await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
    const { id: input } = (await file.json()) as { id: string }
    const { body } = await gateway.ask(
      'POST',
      '/v1/batches',
      { input_file_id: input, endpoint: '/v1/chat/completions', completion_window: '24h' },
      headers,
    )
    const { id } = body as unknown as { id: string }
    const callCount = () => upstream.requests.filter(each => each.includes('completions')).length
    await eventually(() => callCount() > 0)
    await open('batches')
    await page.getByRole('button', { name: 'Cancel the batch' }).click()
    await dialog.getByText(/^Cancel batch/).waitFor()
    await dialog.getByRole('button', { name: 'Cancel the batch' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText(/^cancell(?:ing|ed)$/).waitFor()
    upstream.release()
    await page.getByText('cancelled', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel the batch' }).waitFor({ state: 'detached' })
    const { body: batch } = await gateway.ask('GET', `/v1/batches/${id}`, undefined, headers)
    t.ok(callCount() < LINES, `${callCount()} of ${LINES} were sent`)
    t.match(batch, {
      status: 'cancelled',
      request_counts: { total: LINES, completed: callCount() },
    })
    const { data } = (await operator.ask('GET', '/api/admin/charges?account=ann&model=gp-4.1')).body
    t.equal(data.length, callCount())
    const spent = data.reduce((sum, { cost }) => sum + Number(cost), 0)
    const after = await wallet()
    t.equal(Number(after.held), 0)
    // The API rounds each amount to six places.
    t.ok(Math.abs(Number(after.balance) - (before - spent)) < 0.000_01)
    t.match((await operator.ask('GET', '/api/admin/ledger/audit')).body.data, { balanced: true })
    t.same(faults, [])
  })
})
