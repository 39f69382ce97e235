/** The pages of operators in a browser, against a real gateway with real calls: live requests, a
 *  request's story, upstreams, routes, configuration and its editor, ledger, accounts. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

const HOSTILE = '"><img src=x onerror=globalThis.hurt=1>'
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const shipped = (name: string) => readFileSync(join(ROOT, name), 'utf8')
const ROUTES = `
include: [more/*.yaml]
pipeline: [errors, observe, auth, validate, model, meter, account, console, translate, guard, cache, sandbox]
guards: { pii: { find: email, do: flag } }
console: { edit: true }
upstreams:
  up: { title: Sandbox of models, url: 'sandbox:', formats: [openai-chat] }
models:
  gp-4.1: { to: up/gpt-4.1, context: 9000, output: 1000, price: { input: 2.00 CNY / 1M, output: 8.00 CNY / 1M } }
  routed: { to: up/gpt-4.1, cache: exact, context: 9000, output: 1000, price: { input: 2.00 CNY / 1M, output: 8.00 CNY / 1M, cached_call: 0.01 CNY }, rules: [{ name: canary, headers: { x-canary: 'yes' }, to: up/gpt-4.1-mini }] }
routes:
  - { path: POST /v1/chat/completions, name: chat, auth: [key, session], model: body, meter: {}, translate: openai-chat, errors: openai }
  - { path: POST /guarded/v1/chat/completions, auth: key, model: body, meter: {}, translate: openai-chat, guard: pii, errors: openai }
  - { path: GET /console, auth: none, console: page, errors: envelope }
  - { path: 'GET /console/{file}', auth: none, console: file, errors: envelope }
  - { path: POST /api/session, auth: none, validate: schemas/session.json, console: sign-in, errors: envelope }
  - { path: GET /api/session, auth: session, console: session, errors: envelope }
  - { path: GET /api/usage, auth: session, account: usage, errors: envelope }
  - { path: GET /api/keys, auth: session, account: list-keys, errors: envelope }
  - path: GET|POST /api/admin/{resource}
    name: admin
    auth: { by: [system-token, session], role: admin }
    console: admin
    errors: envelope
  - path: GET|POST /api/admin/{resource}/{action}
    name: admin-action
    auth: { by: [system-token, session], role: admin }
    console: admin
    errors: envelope
`

/** Parts of the calls of a model on the page Traffic, in English and in Chinese. */
const PARTS = [
  [
    'rule',
    ['Rule', '规则'],
    [
      { names: ['no rule', '无规则'], share: '83.3%', calls: '5' },
      { names: ['canary', 'canary'], share: '16.7%', calls: '1' },
    ],
  ],
  [
    'cache',
    ['Cache', '缓存'],
    [
      { names: ['not in the cache', '缓存未命中'], share: '83.3%', calls: '5' },
      {
        names: ['from the cache: equal request', '缓存命中：相同请求'],
        share: '16.7%',
        calls: '1',
      },
    ],
  ],
  [
    'guard',
    ['Guard', '内容防护'],
    [
      { names: ['all guarded calls', '所有受防护的调用'], share: '100%', calls: '2' },
      { names: ['pii flagged', 'pii flagged'], share: '50%', calls: '1' },
    ],
  ],
] as const
const COLUMNS = [
  ['Model', '模型'],
  ['Share', '占比'],
  ['Calls', '次数'],
] as const
const HELP = [
  ['Rule', 'the calls of each rule beside those'],
  ['规则', '有规则的模型：每条规则的调用'],
] as const

t.test('console of operators in a browser', { skip: missingBrowser }, async t => {
  const [gateway, browser] = await Promise.all([
    startConsole(t, {
      routes: ROUTES,
      files: {
        'schemas/session.json': shipped('schemas/session.json'),
        'more/some.yaml': `routes: [] # ${HOSTILE}\n`,
      },
    }),
    startBrowser(t),
  ])
  const operator = await gateway.signIn({ token: gateway.token })
  const call = (model: string) => {
    const headers = { authorization: `Bearer ${gateway.apiKey}` }
    const body = { model, messages: [{ role: 'user', content: 'Hello' }] }
    return gateway.ask('POST', '/v1/chat/completions', body, headers)
  }
  t.match(await call('gp-4.1'), { status: 200 })
  await call(HOSTILE)
  const { page, faults, open } = await openWindow(t, browser, gateway, { as: operator })
  // A frozen page of live events never ends its request: its pages wait for what they show.
  const openLive = async () => {
    await page.goto(`${gateway.url}/console#/live`)
    await page.locator('[data-live=open]').waitFor()
  }

  t.test('live: shows a call as it ends, and its whole story', async t => {
    await openLive()
    await call('gp-4.1')
    await page.getByText('Last event at').waitFor()
    await page.getByRole('cell', { name: 'onerror' }).first().waitFor()
    t.same(await seriousFindings(page), [])
    await page.getByRole('row').filter({ hasText: 'gp-4.1' }).first().locator('a').first().click()
    await page.getByText('First byte').waitFor()
    await page.getByText('Held').first().waitFor()
    await page.getByText('input x').waitFor()
    const served = page.getByRole('region', { name: 'Served by' })
    await served.getByText('Upstream and target').waitFor()
    await served.getByText('Sandbox of models / gpt-4.1').waitFor()
    await served.getByText(/first content after \d+ ms, complete after \d+ ms/).waitFor()
    t.same(await seriousFindings(page), [])
    await page.getByRole('button', { name: 'Refund' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Refund' }).click()
    await page.getByText('Refunded:').waitFor()
    await page.getByRole('link', { name: '#1', exact: true }).click()
    await page.getByText('The first stored version').waitFor()
  })

  t.test('alerts: says how to configure them', async t => {
    await open('alerts')
    await page.getByText('Alerts are not configured').waitFor()
    t.equal(await page.getByRole('button', { name: 'Send a test' }).count(), 0)
    t.same(await seriousFindings(page), [])
  })

  t.test('traffic: calls, tokens and latencies of each model and upstream', async t => {
    const isCounted = async (): Promise<boolean> => {
      const { body } = await operator.ask('GET', '/api/admin/traffic')
      return Number(body.data[0]?.calls ?? 0) > 1
    }
    await eventually(isCounted)
    for (const [by, name] of [
      ['model', 'gp-4.1'],
      ['upstream', 'up'],
      ['account', 'admin'],
    ] as const) {
      await open(`traffic?by=${by}`)
      const title = name === 'up' ? 'Sandbox of models' : name
      const cell = page.getByRole('cell', { name: title, exact: true })
      const row = page.getByRole('row').filter({ has: cell })
      await row.waitFor()
      const cells = await row.locator('td').allTextContents()
      t.match(cells.slice(0, 2), [title, /^[1-9]/], by)
      if (by === 'model')
        t.match(cells.slice(3), [/^[1-9]/, '0', /^[1-9]/, '0%', /^\d/, /^\d/, /^\d/, /^\d/, /\d/])
      t.same(await seriousFindings(page), [], by)
    }
    await open('usage?by=model')
    const own = page.getByRole('row').filter({ hasText: 'gp-4.1' }).first()
    await own.waitFor()
    const cells = await own.locator('td').allTextContents()
    t.match(cells, [
      'gp-4.1',
      /^[1-9]/,
      /^[1-9]/,
      '0',
      /^[1-9]/,
      /^\d/,
      /^\d/,
      /^\d/,
      /^\d/,
      /./,
      /./,
    ])
    await openLive()
    const live = page.getByRole('row').filter({ hasText: 'gp-4.1' }).first()
    t.match((await live.locator('td').allTextContents()).slice(6, 11), [
      /^[1-9]/,
      '–',
      /^[1-9]/,
      /^\d/,
      /^\d/,
    ])
  })

  t.test('traffic: a canary beside its parent, cache and guards with their shares', async t => {
    const ask = (content: string, headers: Readonly<Record<string, string>>, path: string) => {
      const body = { model: 'routed', temperature: 0, messages: [{ role: 'user', content }] }
      const authorization = `Bearer ${gateway.apiKey}`
      return gateway.ask('POST', path, body, { authorization, ...headers })
    }
    const [PLAIN, GUARDED] = ['/v1/chat/completions', '/guarded/v1/chat/completions']
    for (const text of ['One', 'Two', 'Two']) t.match(await ask(text, {}, PLAIN), { status: 200 })
    await ask('Four', { 'x-canary': 'yes' }, PLAIN)
    await ask('I am ann@example.com', {}, GUARDED)
    await ask('Hello', {}, GUARDED)
    await eventually(async () => {
      const { body } = await operator.ask('GET', '/api/admin/traffic?by=rule')
      return body.data.map(each => Number(each.calls)).reduce((sum, calls) => sum + calls, 0) === 6
    })
    const chinese = await openWindow(t, browser, gateway, { as: operator, locale: 'zh-CN' })
    for (const [language, window] of [
      [0, { page, open }],
      [1, chinese],
    ] as const) {
      for (const [by, title, rows] of PARTS) {
        await window.open(`traffic?by=${by}`)
        for (const { names, share, calls } of rows) {
          const cell = window.page.getByRole('cell', { name: names[language], exact: true })
          const line = window.page.getByRole('row').filter({ has: cell })
          await line.waitFor()
          const cells = await line.locator('td').allTextContents()
          t.same(cells.slice(0, 4), ['routed', names[language], share, calls], by)
        }
        const titles = await window.page.locator('thead th').allTextContents()
        t.same(
          titles.slice(0, 4),
          [COLUMNS[0], title, ...COLUMNS.slice(1)].map(each => each?.[language]),
        )
        t.same(await seriousFindings(window.page), [], by)
      }
      const [rule, help] = HELP[language]
      await window.page.getByRole('button', { name: rule, exact: true }).click()
      await window.page.getByText(help).waitFor()
    }
    t.equal(await chinese.page.locator('h1').first().textContent(), '流量')
    t.same(chinese.faults, [])
  })

  t.test('failed calls: in the ledger, in usage, and why in the story', async t => {
    for (const address of ['ledger?view=failed', 'usage?state=failed']) {
      await open(address)
      await page.getByRole('cell', { name: '404 MODEL_UNKNOWN' }).first().waitFor()
      t.same(await seriousFindings(page), [], address)
      await page
        .getByRole('row')
        .filter({ hasText: 'onerror' })
        .first()
        .locator('a')
        .first()
        .click()
      const reply = page.getByRole('region', { name: 'Error sent to the client' })
      await reply.getByText('onerror').waitFor()
      t.same(await seriousFindings(page), [])
    }
  })

  t.test('upstreams, routes, ledger, deliveries: show what is there', async () => {
    await open('upstreams')
    await page.getByRole('button', { name: 'Test' }).first().click()
    await page.getByText('inside the gateway').waitFor()
    await open('routes/chat')
    await page.getByText(/routes\.yaml:\d+/).waitFor()
    await open('ledger?view=audit')
    await page.getByRole('button', { name: 'Run the audit' }).click()
    await page.getByText('The ledger balances').waitFor()
    await open('ledger?account=admin')
    await page.getByRole('cell', { name: 'gp-4.1' }).first().waitFor()
    await open('account/admin')
    await page.locator('table').getByRole('button', { name: 'Limits' }).click()
    await page.getByLabel('Rate limit').fill('fast')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').first().waitFor()
    await page.getByLabel('Rate limit').fill('60/min')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('60 requests/min').waitFor()
  })

  t.test('editor: a typo is marked as it is typed; a key is completed; saved and live', async t => {
    await open('editor')
    const area = page.getByLabel('Text of routes.yaml')
    await page.locator('[data-problems="0"]').waitFor()
    const before = await area.inputValue()
    await area.fill(before.replace('console: { edit: true }', 'consle: { edit: true }'))
    const { body } = await operator.ask('POST', '/api/admin/editor/check', {
      file: 'routes.yaml',
      text: await area.inputValue(),
    })
    await page.getByText(String(body.data[0]?.text)).first().waitFor()
    t.ok((await page.locator('.editor-lines .error').count()) > 0)
    await page.getByRole('button', { name: 'Replace with console' }).click()
    t.equal(await area.inputValue(), before)
    await page.locator('[data-problems="0"]').waitFor()
    await page.keyboard.press('Control+z')
    await page.getByText(String(body.data[0]?.text)).first().waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing was saved').waitFor()
    await area.fill(before)
    await page.evaluate(`{
      const area = document.querySelector('textarea')
      const at = area.value.indexOf('edit: true')
      area.focus()
      area.setSelectionRange(at, at)
    }`)
    await page.keyboard.type('sess')
    await page.keyboard.press('Control+Space')
    await page.keyboard.press('Enter')
    await page.keyboard.type('1h, ')
    t.match(await area.inputValue(), /console: \{ session: 1h, edit: true \}/)
    await page.locator('[data-problems="0"]').waitFor()
    t.same(await seriousFindings(page), [])
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The gateway loads it now').waitFor()
    const file = join(dirname(gateway.data), 'routes.yaml')
    t.match(readFileSync(file, 'utf8'), /session: 1h/)
    await open('editor?file=more%2Fsome.yaml')
    t.match(await page.getByLabel('Text of more/some.yaml').inputValue(), /onerror/)
  })

  t.test('configuration: reload, what a version changed, rollback asks once', async () => {
    await operator.ask('POST', '/api/admin/configuration/reload', {})
    await open('configuration?version=2')
    await page.locator('.diff .added').filter({ hasText: 'session: 1h' }).waitFor()
    await page.getByRole('button', { name: 'Roll back' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Roll back to version #1?').waitFor()
    await dialog.getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('restored #1').waitFor()
  })

  t.test('hostile texts: stay texts', async t => {
    await open(`call/${encodeURIComponent(HOSTILE)}`)
    await open(`ledger?model=${encodeURIComponent(HOSTILE)}`)
    await open(`routes/${encodeURIComponent(HOSTILE)}`)
    t.equal(await page.evaluate('globalThis.hurt'), undefined)
    t.same(faults, [])
  })
})
