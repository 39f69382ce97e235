/** The console in a browser, against a real gateway with real calls, tasks, files and keys:
 *  sign-in, every form, and texts that must stay texts. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { type ConsoleGateway, startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { AUTHORITY, startReceiver } from '../../helpers/money/receiver.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

/** Texts that would run if one of them were taken for markup or for code. */
const HOSTILE = [
  "javascript:globalThis.hurt=1//'",
  '<img src=x onerror=globalThis.hurt=1>',
  '"><script>globalThis.hurt=1</script>',
  '<svg/onload=globalThis.hurt=1>',
  '{{constructor.constructor("globalThis.hurt=1")()}}',
]

t.test('console in a browser', { skip: missingBrowser }, async t => {
  const receiver = await startReceiver(t)
  const env = { EGRESS_ALLOW: `127.0.0.1:${receiver.port}`, NODE_EXTRA_CA_CERTS: AUTHORITY }
  const [gateway, browser] = await Promise.all([startConsole(t, { env }), startBrowser(t)])
  const ann = await gateway.customer('ann', 100)
  const operator = await gateway.signIn({ token: gateway.token })
  const { body: key } = await ann.ask('POST', '/api/keys', { name: 'calls' })
  await useGateway(gateway, String(key.data.key))

  t.test('sign-in: refuses a wrong token, accepts the right one, leaves no secret', async t => {
    const { page, faults } = await openWindow(t, browser, gateway)
    await page.goto(`${gateway.url}/console`)
    await page.getByLabel('System token').fill('st-wrong')
    await page.keyboard.press('Enter')
    await page.getByText('invalid, expired or revoked').waitFor()
    await page.getByLabel('System token').fill(gateway.token)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.equal(await page.evaluate('document.cookie'), '', 'scripts see no cookie')
    t.notMatch(await page.evaluate('JSON.stringify({ ...localStorage })'), /st-|ss-/)
    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByLabel('System token').waitFor()
    t.same(faults, [])
  })

  t.test('sign-in link: works once, and leaves the address', async t => {
    const { page, faults } = await openWindow(t, browser, gateway)
    await page.goto(`${gateway.url}/console#link=${gateway.link}`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    t.notMatch(page.url(), /sl-/)
    const { page: second } = await openWindow(t, browser, gateway)
    await second.goto(`${gateway.url}/console#link=${gateway.link}`)
    await second.getByText('has expired or has been used').waitFor()
    t.same(faults, [])
  })

  t.test('keys: created and shown once, edited, rotated, revoked', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('keys')
    await page.getByRole('button', { name: 'Create a key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('bad <name>')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByText("Invalid 'name'").waitFor()
    await dialog.getByLabel('Name').fill('laptop')
    await dialog.getByLabel(/^Models/).fill('gp-4.1, cl-haiku-4-5')
    await dialog.getByLabel(/^Quota \(/).fill('0.002')
    await dialog.getByLabel('Quota resets').selectOption('monthly')
    await dialog.getByLabel(/^Expires/).fill('2999-01-31')
    await dialog.getByLabel(/^Rate limit/).fill('60/min')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    const secret = (await page.locator('[data-secret]').textContent()) ?? ''
    t.match(secret, /^sk-\w{49}$/)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('cell', { name: 'laptop' }).waitFor()
    t.notOk((await page.content()).includes(secret), 'it is not shown again')
    const { body } = await ann.ask('GET', '/api/keys')
    t.match(
      body.data.find(({ name }) => name === 'laptop'),
      {
        models: ['gp-4.1', 'cl-haiku-4-5'],
        quota: 1000,
        quota_period: 'month',
        expires: '2999-01-31T23:59:59.000Z',
        limits: { requests: '60/min' },
      },
    )
    const row = page.getByRole('row').filter({ hasText: 'laptop' })
    await row.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel(/^Quota \(/).fill('-1')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel(/^Quota \(/).fill('0.004')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('0.00 / 0.004 CNY per month').waitFor()
    await row.getByRole('button', { name: 'Rotate' }).click()
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    const rotated = (await page.locator('[data-secret]').textContent()) ?? ''
    t.match(rotated, /^sk-\w{49}$/)
    t.not(rotated, secret)
    await page.getByRole('button', { name: 'Close' }).click()
    t.equal(await row.count(), 1, 'the same key with another secret')
    await row.first().getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('revoked').waitFor()
    t.same(faults, [])
  })

  t.test('first call: one click makes a key and a call, whose charge appears live', async t => {
    const eve = await gateway.customer('eve', 10)
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: eve })
    await open('overview')
    await page.getByRole('button', { name: 'Create a key and make your first call' }).click()
    const code = (await page.locator('[data-snippet]').textContent()) ?? ''
    t.match(code, /^export KEY=sk-\w{49}\ncurl /)
    t.match(await promisify(execFile)('sh', ['-c', code]), { stdout: /"choices"/ })
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('region', { name: 'Spend by day' }).waitFor()
    t.same(faults, [])
  })

  t.test('system tokens: created and shown once, revoked', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('personal')
    await page.getByRole('button', { name: 'Create a system token' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('script')
    await dialog.getByRole('button', { name: 'Create a system token' }).click()
    const secret = (await page.locator('[data-secret]').textContent()) ?? ''
    t.match(secret, /^st-\w{49}$/)
    const bearer = { authorization: `Bearer ${secret}` }
    t.equal((await gateway.ask('GET', '/api/user/info', undefined, bearer)).status, 200)
    await page.getByRole('button', { name: 'Close' }).click()
    const row = page.getByRole('row').filter({ hasText: 'script' })
    await row.getByRole('button', { name: 'Revoke' }).click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('revoked').waitFor()
    await eventually(
      async () => (await gateway.ask('GET', '/api/user/info', undefined, bearer)).status === 401,
    )
    t.same(faults, [])
  })

  t.test('sessions: another browser of the account is signed out', async t => {
    const body = { token: gateway.token }
    const { headers } = await gateway.ask('POST', '/api/session', body, {
      'user-agent': 'backup/1',
    })
    const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const status = async () =>
      (await gateway.ask('GET', '/api/session', undefined, { cookie })).status
    t.equal(await status(), 200)
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: operator })
    await open('personal')
    const row = page.getByRole('row').filter({ hasText: 'backup/1' })
    await row.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('dialog').getByText('Sign out this browser?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click()
    await eventually(async () => (await status()) === 401)
    await row.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'detached' })
    t.same(faults, [])
  })

  t.test('language: Chinese by one click, and after the page is loaded again', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('overview')
    await page.getByRole('button', { name: '中文' }).first().click()
    await page.getByRole('heading', { name: '概览' }).waitFor()
    const visitor = await openWindow(t, browser, gateway)
    await visitor.page.goto(`${gateway.url}/console`)
    await visitor.page.getByRole('button', { name: '中文' }).click()
    await visitor.page.getByLabel('系统令牌').waitFor()
    await open('usage')
    await page.getByRole('heading', { name: '用量' }).waitFor()
    t.equal(await page.locator('html').getAttribute('lang'), 'zh')
    t.same(faults, [])
  })

  t.test('models: found by a part of the name, with code in four formats', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('models')
    await page.getByLabel('Search models').fill('haiku-4-5')
    await page.getByRole('row').filter({ hasText: 'gp-4.1' }).first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Snippets' }).first().click()
    const code = page.getByRole('dialog').locator('[data-snippet]').last()
    const paths = {
      'Chat Completions': '/v1/chat/completions',
      Responses: '/v1/responses',
      Messages: '/v1/messages',
      generateContent: ':generateContent',
    }
    for (const [format, path] of Object.entries(paths)) {
      await page.getByRole('dialog').getByRole('button', { name: format }).click()
      t.match(await code.textContent(), path)
      t.match(await code.textContent(), 'cl-haiku-4-5')
    }
    await page.getByRole('dialog').getByRole('button', { name: 'TypeScript' }).click()
    t.match(await code.textContent(), /import .* from '/)
    t.same(faults, [])
  })

  t.test('usage: filters are in the address, and a row opens its receipt', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('usage')
    await page.getByLabel('Model', { exact: true }).fill('cl-haiku-4-5')
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { name: 'gp-4.1' }).first().waitFor({ state: 'detached' })
    t.match(page.url(), /model=cl-haiku-4-5/)
    await page
      .getByRole('row')
      .filter({ hasText: 'cl-haiku-4-5' })
      .first()
      .locator('a')
      .first()
      .click()
    await page.getByRole('cell', { name: 'input' }).waitFor()
    await page.getByText(/input x [\d.]+\/1M \+ \d+ output x/).waitFor()
    await open('usage?state=released')
    await page.getByText('No calls match').waitFor()
    t.same(faults, [])
  })

  t.test('batches: created from a file, followed live until its output', async t => {
    const form = new FormData()
    const body = { model: 'gp-4.1', messages: [{ role: 'user', content: 'Hello' }] }
    const line = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body }
    form.set('purpose', 'batch')
    form.set('file', new Blob([`${JSON.stringify(line)}\n`]), 'requests.jsonl')
    const headers = { authorization: `Bearer ${key.data.key}` }
    await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('batches')
    await page.getByRole('button', { name: 'Create a batch' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('requests.jsonl').waitFor({ state: 'attached' })
    await dialog.getByRole('button', { name: 'Create a batch' }).click()
    await page.getByRole('link', { name: 'Output' }).waitFor()
    await page.getByText('completed').waitFor()
    t.same(faults, [])
  })

  t.test('usage: a call appears live, columns sort, CSV has every row', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('usage')
    await page.locator('[data-live=yes]').waitFor()
    const body = { model: 'gx-2.5-pro', messages: [{ role: 'user', content: 'Hello' }] }
    const headers = { authorization: `Bearer ${key.data.key}` }
    await gateway.ask('POST', '/v1/chat/completions', body, headers)
    const row = page.getByRole('row').filter({ hasText: 'gx-2.5-pro' })
    await row.getByRole('cell', { name: 'calls', exact: true }).waitFor()
    const titles = (await page.locator('thead th').allTextContents()).join()
    t.match(titles, /Tokens in,Tokens cached,Tokens out,Time \(ms\),Cost/)
    await page.getByRole('button', { name: /^Cost/ }).click()
    await page.getByRole('columnheader', { name: /^Cost/, includeHidden: true }).waitFor()
    await page.locator('th[aria-sort=descending]').filter({ hasText: 'Cost' }).waitFor()
    const waiting = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV' }).click()
    const download = await waiting
    t.match(download.suggestedFilename(), /^usage-by-call-.*\.csv$/)
    const text = await readFile(await download.path(), 'utf8')
    const { body: whole } = await ann.ask('GET', '/api/usage?limit=1000')
    t.equal(text.trimEnd().split('\r\n').length, whole.data.length + 1)
    t.same(faults, [])
  })

  t.test('usage: columns keep their places while hundreds of rows are scrolled', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    const { body } = await ann.ask('GET', '/api/usage?limit=1')
    // Longer names further down would move the columns after them.
    const rows = Array.from({ length: 400 }, (_, index) => ({
      ...body.data[0],
      request_id: `req_${index}`,
      model: 'm'.repeat(1 + index / 20),
    }))
    await page.route(/\/api\/usage\?/, route =>
      route.fulfill({ json: { ...body, data: rows, next: null } }),
    )
    await open('usage')
    const places =
      "JSON.stringify([...document.querySelectorAll('th')].map(each => each.offsetLeft))"
    const before = await page.evaluate(places)
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await page.locator('a[href*=req_399]').first().waitFor()
    t.equal(await page.locator('a[href$=req_0]').count(), 0, 'rows far above are left out')
    t.equal(await page.evaluate(places), before)
    t.same(faults, [])
  })

  t.test('playground: each format by a click: request, streamed answer, charge', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('playground')
    for (const [title, path] of Object.entries({
      'Chat Completions': '/v1/chat/completions',
      Responses: '/v1/responses',
      Messages: '/v1/messages',
      generateContent: '/v1beta/models/gp-4.1:streamGenerateContent?alt=sse',
    })) {
      await page.getByRole('button', { name: title, exact: true }).click()
      await page.locator(`[aria-pressed=true]`).getByText(title, { exact: true }).waitFor()
      await page.getByLabel('Model').fill('gp-4.1')
      await page.getByLabel('Message').fill(`Say hello to ${title}`)
      await page.getByLabel('System prompt').fill('Be short')
      await page.getByLabel('Max output tokens').fill('64')
      const answering = page.waitForResponse(response => response.url().endsWith(path))
      await page.getByRole('button', { name: 'Send' }).click()
      const response = await answering
      t.match(await response.headerValue('content-type'), /^text\/event-stream/, title)
      const body = response.request().postDataJSON()
      t.match(
        JSON.stringify(body),
        new RegExp(`Say hello to ${title}.*64|64.*Say hello to ${title}`),
      )
      t.match(JSON.stringify(body), /Be short/)
      const charge = page.locator('[data-charge]')
      await charge.getByText('CNY').waitFor()
      t.match(
        await page.locator('[data-answer]').textContent(),
        `You wrote: "Say hello to ${title}"`,
      )
      await page.locator('summary').click()
      const requestText = (await page.locator('details pre').textContent()) ?? ''
      t.equal(requestText.split('\n', 1)[0], `POST ${path}`)
      t.same(
        JSON.parse(requestText.slice(requestText.indexOf('\n'))),
        body,
        `${title}: the request as it was`,
      )
      const { data } = (await ann.ask('GET', '/api/usage?limit=1')).body
      const cost = Number(data[0]?.cost)
      t.ok(cost > 0)
      t.equal(Number.parseFloat((await charge.textContent()) ?? ''), Number(cost.toFixed(6)), title)
      const id = await page.locator('dl a[href*=req_]').getAttribute('href')
      t.equal(id, `#/call/${data[0]?.request_id}`)
    }
    t.same(faults, [])
  })

  t.test(
    'playground: a stream that fails and a refusal show their errors, and no charge waits',
    async t => {
      const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
      const failures = {
        openai: [
          { choices: [{ delta: { content: 'Half' } }] },
          { error: { message: 'broke off' } },
        ],
        responses: [
          { type: 'response.output_text.delta', delta: 'Half' },
          { type: 'response.failed', response: { error: { message: 'broke off' } } },
        ],
        anthropic: [
          { type: 'content_block_delta', delta: { text: 'Half' } },
          { type: 'error', error: { message: 'broke off' } },
        ],
        gemini: [
          { candidates: [{ content: { parts: [{ text: 'Half' }] } }] },
          { error: { message: 'broke off' } },
        ],
      }
      for (const [format, events] of Object.entries(failures)) {
        await open(`playground?format=${format}&model=gp-4.1`)
        await page.route(/completions|responses|messages|streamGenerate/, route =>
          route.fulfill({
            contentType: 'text/event-stream',
            body: events.map(each => `data: ${JSON.stringify(each)}\n\n`).join(''),
          }),
        )
        await page.getByLabel('Message').fill('Hello')
        await page.getByRole('button', { name: 'Send' }).click()
        await page.getByRole('alert').getByText('broke off').waitFor()
        t.equal(await page.locator('[data-answer]').textContent(), 'Half', format)
        t.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0, format)
        await page.unrouteAll()
      }
      const poor = await gateway.customer('poor', 0)
      const refused = await openWindow(t, browser, gateway, { as: poor })
      await refused.open('playground')
      await refused.page.getByLabel('Message').fill('Hello')
      await refused.page.getByRole('button', { name: 'Send' }).click()
      await refused.page
        .getByRole('alert')
        .getByText(/balance/)
        .waitFor()
      await refused.page.locator('[data-charge]').getByText('none').waitFor()
      t.same([...faults, ...refused.faults], [])
    },
  )

  t.test('video: by a click, with its request, its clip and its charge', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('playground')
    await page.getByRole('button', { name: 'Video' }).click()
    await page.getByLabel('Model').fill('vdq3')
    await page.getByLabel('Prompt').fill('A lighthouse')
    await page.getByLabel('Duration').fill('2')
    await page.getByLabel('Resolution').selectOption('540p')
    const requestText = (await page.locator('pre').textContent()) ?? ''
    const creating = page.waitForRequest(/\/ent\/v2\/text2video$/)
    await page.getByRole('button', { name: 'Send' }).click()
    const body = (await creating).postDataJSON()
    t.same(body, { model: 'vdq3', prompt: 'A lighthouse', duration: 2, resolution: '540p' })
    t.same(JSON.parse(requestText.slice(requestText.indexOf('\n'))), body)
    await page.getByRole('heading', { name: 'Task' }).first().waitFor()
    await page.locator('dl').getByText('succeeded').waitFor()
    await page.locator('video').waitFor()
    await page.getByRole('link', { name: 'Receipt' }).click()
    await page.getByRole('region', { name: 'Price' }).getByText('seconds').first().waitFor()
    const { data } = (await ann.ask('GET', '/api/usage?limit=1&model=vdq3')).body
    const price = await page.getByRole('region', { name: 'Price' }).locator('strong').textContent()
    t.equal(Number(price), Number(data[0]?.cost))
    t.ok(Number(price) > 0)
    t.same(faults, [])
  })

  t.test('task: an image and a sound are shown on their pages', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    const sound = { model: 'audio1.0', prompt: 'Rain on a roof', duration: 2 }
    const picture = { model: 'vdq2', prompt: 'A cat', images: [PIXEL] }
    const tasks = [
      ['audio', '/ent/v2/text2audio', sound],
      ['figure img', '/ent/v2/reference2image', picture],
    ] as const
    for (const [element, path, request] of tasks) {
      const headers = { authorization: `Bearer ${key.data.key}` }
      const { body } = await gateway.ask('POST', path, request, headers)
      await open(`task/${(body as unknown as { task_id: string }).task_id}`)
      const media = page.locator(element)
      await media.waitFor()
      await eventually(() => page.evaluate(isLoaded(element)))
    }
    t.same(faults, [])
  })

  t.test('files: uploaded, refused with the reason, deleted', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('files')
    const upload = async (name: string) => {
      const file = { name, mimeType: 'text/plain', buffer: Buffer.from('{"a":1}\n') }
      await page.locator('input[type=file]').setInputFiles(file)
      await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click()
    }
    await page.getByRole('button', { name: 'Upload a file' }).first().click()
    await upload('page.exe')
    await page.getByRole('alert').waitFor()
    await upload('notes.txt')
    await page.getByRole('cell', { name: 'notes.txt' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('cell', { name: 'notes.txt' }).waitFor({ state: 'detached' })
    t.same(faults, [])
  })

  t.test('notifications: a refused URL is shown beside its field', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('notifications')
    await page.getByLabel('Webhook URL').fill('http://example.com/')
    await page.getByLabel('Balance threshold').fill('10')
    await page.getByRole('button', { name: 'Save and test' }).click()
    await page.locator('.field-error').getByText('webhook URL').waitFor()
    await page.getByLabel('Webhook URL').fill('https://127.0.0.1:1/hook')
    await page.getByRole('button', { name: 'Save and test' }).click()
    await page.locator('.field-error').getByText('an operator can allow it').waitFor()
    await page.getByRole('link', { name: 'Tasks' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click()
    t.match(page.url(), /#\/notifications$/, 'unsaved changes are announced')
    await page.getByLabel('Webhook URL').fill(`${receiver.origin}/hook?token=a`)
    await page.getByRole('button', { name: 'Save and test' }).click()
    await page.locator('[data-test-result].ok').waitFor()
    t.match(await page.locator('[data-test-result]').textContent(), /delivered.*200/)
    t.match(await page.locator('[data-secret]').textContent(), /^whsec_/)
    t.equal(receiver.received[0]?.url, '/hook?token=a')
    const other = `${receiver.origin}/hook?token=b`
    await ann.ask('PUT', '/api/notifications', { url: other })
    const saving = page.waitForRequest(request => request.method() === 'PUT')
    await page.getByLabel('Balance threshold').fill('90071992.547409931')
    await page.getByRole('button', { name: 'Save and test' }).click()
    t.same((await saving).postDataJSON(), { threshold: '90071992.547409931' }, 'what was changed')
    await eventually(() => receiver.received.at(-1)?.url === '/hook?token=b')
    t.match((await ann.ask('GET', '/api/notifications')).body.data, {
      url: other,
      threshold: /^90071992\.547409931$/,
    })
    await page.getByRole('link', { name: 'Tasks' }).first().click()
    await page.getByRole('heading', { name: 'Tasks' }).waitFor()
    t.same(faults, [])
  })

  t.test('accounts: an operator creates, credits and suspends', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: operator })
    await open('accounts')
    await page.getByRole('button', { name: 'Create an account' }).first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('bob')
    await page.getByRole('dialog').getByRole('button', { name: 'Create an account' }).click()
    const row = page.getByRole('row').filter({ hasText: 'bob' })
    await row.getByRole('button', { name: 'Credit' }).click()
    await page.getByLabel(/^Amount/).fill('12.5')
    await page.getByRole('dialog').getByRole('button', { name: 'Credit' }).click()
    await row.getByText('12.500000').waitFor()
    await row.getByRole('button', { name: 'Sign-in link' }).click()
    t.match(await page.locator('[data-secret]').textContent(), /#link=sl-/)
    await page.getByRole('button', { name: 'Close' }).click()
    await row.getByRole('button', { name: 'Suspend' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
    await row.getByRole('cell', { name: 'suspended', exact: true }).waitFor()
    t.same(faults, [])
  })

  t.test('pages of operators: a customer does not reach them', async t => {
    const { page, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('overview')
    t.equal(await page.getByRole('link', { name: 'Accounts' }).count(), 0)
    await page.goto(`${gateway.url}/console#/accounts`)
    await page.getByText('Page not found').waitFor()
  })

  t.test('hostile texts: stay texts wherever they are shown', async t => {
    await useHostileTexts(gateway, String(key.data.key))
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    for (const address of ['files', 'tasks', 'usage', 'personal', 'overview', 'keys']) {
      await open(address)
      t.equal(await page.evaluate('globalThis.hurt'), undefined, address)
    }
    await open('files')
    t.ok(await page.getByText('onerror').first().isVisible(), 'the text itself is shown')
    for (const hostile of shortOrLong([HOSTILE.join('')], HOSTILE)) {
      await open(`call/${encodeURIComponent(hostile)}`)
      await open(`usage?model=${encodeURIComponent(hostile)}&state=${encodeURIComponent(hostile)}`)
      await open(`task/${encodeURIComponent(hostile)}`)
    }
    t.equal(await page.evaluate('globalThis.hurt'), undefined)
    t.same(faults, [])
  })

  t.test('session: its end elsewhere is noticed by streams, and shows the sign-in', async t => {
    for (const address of ['usage', 'live']) {
      const client = await gateway.signIn({ token: gateway.token })
      const { page, open } = await openWindow(t, browser, gateway, { as: client })
      const opened = page.waitForRequest(request => request.resourceType() === 'eventsource')
      await open(address)
      await opened
      t.match(await client.ask('DELETE', '/api/session'), { status: 200 })
      // The stream is opened again, as after the tab was hidden, until each worker knows.
      await eventually(async () => {
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        return page.getByText('Your session has ended').isVisible()
      })
    }
  })

  t.test('API: lists the calls of the running routes, and shows one with its bodies', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('api')
    await page.getByLabel('Search').fill('chat/comp')
    await page.getByRole('link', { name: 'POST /v1/messages' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'POST /v1/chat/completions' }).click()
    const section = (name: string) => page.getByRole('region', { name, exact: true })
    const call = section('POST /v1/chat/completions')
    await call.getByText('header x-api-key').waitFor()
    await call.getByText('idempotency-key').waitFor()
    await call.getByRole('link', { name: /by model/ }).waitFor()
    const request = section('Request · application/json')
    await request.getByText('messages[].tool_calls[].function.arguments').waitFor()
    const role = request.locator('dt', { hasText: /^messages\[\]\.role$/ })
    t.match(await role.locator('+ dd').textContent(), /"assistant".*required$/)
    await section('200 Success · application/json').getByText('choices[].finish_reason').waitFor()
    await section('Errors').getByText('The balance does not cover the call').waitFor()
    await section('Errors').getByText('error.message').waitFor()
    await open('api/nothing')
    await page.getByText('Endpoint not found').waitFor()
    t.same(faults, [])
  })

  t.test('keyboard: goes to pages, focuses the search, lists the keys', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('overview')
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.keyboard.press('/')
    t.equal(await page.evaluate('document.activeElement.type'), 'search')
    await page.keyboard.press('Tab')
    await page.locator('main').click({ position: { x: 4, y: 4 } })
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Go to Usage').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.same(faults, [])
  })

  t.test('addresses: what does not exist is said, also where the address is broken', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await open('call/100%')
    await page.getByText('The path is not acceptable').waitFor()
    for (const address of ['call/nothing', 'task/nothing']) {
      await open(address)
      await page.getByText('Not found').waitFor()
      t.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0, address)
    }
    await open('models?search=gp-4.1')
    const row = page.getByRole('row').filter({ hasText: 'GP 4.1' }).first()
    t.same((await row.locator('td.number').allTextContents()).slice(0, 3), [
      '14.400000',
      '3.600000',
      '57.600000',
    ])
    t.same(faults, [])
  })

  // The last one: it uses up the sign-ins of this address.
  t.test('sign-in: is throttled after many failures, and says for how long', async t => {
    const { page, faults } = await openWindow(t, browser, gateway)
    await page.goto(`${gateway.url}/console`)
    const field = page.getByLabel('System token')
    const refused = async () => {
      const response = page.waitForResponse(/\/api\/session$/)
      await field.fill('st-wrong')
      await field.press('Enter')
      return (await response).status()
    }
    while ((await refused()) !== 429);
    await page.getByText(/Too many failed sign-ins; try again in \d+ s/).waitFor()
    t.same(faults, [])
  })
})

/** Whether the element has read its file. */
const isLoaded = (selector: string): string => `(element =>
  element.naturalWidth > 0 || element.readyState > 0)(document.querySelector('${selector}'))`
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Real calls of each kind; resolves when the task has succeeded. */
const useGateway = async (gateway: ConsoleGateway, key: string): Promise<void> => {
  const headers = { authorization: `Bearer ${key}` }
  for (const model of ['gp-4.1', 'cl-haiku-4-5', 'gx-2.5-flash']) {
    const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
    await gateway.ask('POST', '/v1/chat/completions', body, headers)
  }
  const clip = { model: 'vdq3', prompt: 'A tree', duration: 1, resolution: '540p' }
  const { body } = await gateway.ask('POST', '/ent/v2/text2video', clip, headers)
  const taskId = (body as unknown as { task_id: string }).task_id
  await eventually(async () => {
    const path = `/ent/v2/tasks/${taskId}/creations`
    const { body } = await gateway.ask('GET', path, undefined, headers)
    return (body as unknown as { state: string }).state === 'success'
  })
}

/** Puts the texts wherever a customer's request can put a text that the console shows. */
const useHostileTexts = async (gateway: ConsoleGateway, key: string): Promise<void> => {
  const headers = { authorization: `Bearer ${key}` }
  for (const hostile of HOSTILE) {
    const form = new FormData()
    form.set('purpose', 'assistants')
    form.set('file', new Blob(['text']), `${hostile.replaceAll('/', '')}.txt`)
    await fetch(`${gateway.url}/v1/files`, { method: 'POST', headers, body: form })
    const clip = { model: 'vdq3', prompt: hostile, duration: 1, resolution: '540p' }
    await gateway.ask('POST', '/ent/v2/text2video', clip, headers)
    const body = { token: gateway.token }
    await gateway.ask('POST', '/api/session', body, { 'user-agent': hostile })
  }
}
