/** Forms of the console that write the configuration, in a browser against a real gateway and a
 *  provider of its own: a provider, its model, a price and a limit, each live for a customer. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { contrastFindings, seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { WIDER } from '../../helpers/console/check-views.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'

const CHAT =
  '  - { path: POST /v1/chat/completions, name: chat, auth: [key, session], model: body, meter: {}, translate: openai-chat, errors: openai'
const ROUTES = `
include: [tollgate:presets.yaml, tollgate:console.yaml]
# Stages of all routes.
pipeline: [errors, observe, auth, validate, model, limit, idempotency, meter, openapi, notify, account, console, translate, sandbox, adapt]
upstreams: # providers
  up: { url: 'sandbox:', formats: [openai-chat] } # for tests
models: # for sale
  old: { to: up/old, price: { input: 1 / 1M, output: 2 / 1M } } # list price
routes:
${CHAT} }
`
interface ProviderCall {
  readonly url: string
  readonly authorization: string | undefined
}
const startProvider = async (t: Pick<Test, 'teardown'>, calls: ProviderCall[]) => {
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request
    const body = await text(request)
    calls.push({ url, authorization: headers.authorization })
    response.setHeader('content-type', 'application/json')
    if (url.endsWith('/models'))
      return void response.end(JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] }))
    const { model } = JSON.parse(body) as { readonly model: string }
    response.end(
      JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1_700_000_000,
        model,
        choices: [
          { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } },
        ],
        usage: { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 },
      }),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('forms of the configuration in a browser', { skip: missingBrowser }, async t => {
  const calls: ProviderCall[] = []
  const origin = await startProvider(t, calls)
  const [gateway, browser] = await Promise.all([
    startConsole(t, { settings: 'public_url: http://127.0.0.1', routes: ROUTES }),
    startBrowser(t),
  ])
  const operator = await gateway.signIn({ token: gateway.token })
  const window = await openWindow(t, browser, gateway, { as: operator })
  const { page, faults, open } = window
  const dialog = page.getByRole('dialog')
  const folder = dirname(gateway.data)
  const read = () => readFileSync(join(folder, 'routes.yaml'), 'utf8')
  const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
  const chat = (model: string) =>
    gateway.ask(
      'POST',
      '/v1/chat/completions',
      { model, messages: [{ role: 'user', content: 'Hello' }] },
      { authorization: `Bearer ${gateway.apiKey}` },
    )
  /** In both sizes and themes. */
  const check = async (t: Test, name: string) => {
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme: 'light' })
      t.same(await seriousFindings(page), [], `${name}, ${width} px, light`)
      await page.emulateMedia({ colorScheme: 'dark' })
      t.same(await contrastFindings(page), [], `${name}, ${width} px, dark`)
      t.same(await page.evaluate(WIDER), [], `${name}, ${width} px: nothing is wider`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  }
  /** The lines that a press on the button adds and removes, as the dialog shows them. */
  const preview = async () => {
    const before = read()
    await press('Show the change')
    await dialog.getByRole('button', { name: 'Save and go live' }).waitFor()
    t.equal(read(), before, 'a preview saves nothing')
    return (await dialog.locator('.added, .removed').allTextContents()).map(line => line.trim())
  }
  const save = async () => {
    await press('Save and go live')
    await page
      .getByText(/Version #\d+ is live/)
      .last()
      .waitFor()
    await dialog.waitFor({ state: 'detached' })
  }

  t.test('provider: a wrong address is named with its line, a right one goes live', async t => {
    await open('upstreams')
    await check(t, 'upstreams')
    await page.getByRole('button', { name: 'Add a provider' }).click()
    await dialog.getByLabel('Provider').selectOption('vertex')
    await press('Show the change')
    await dialog.getByText('needs region').waitFor()
    await dialog.getByLabel('Provider').selectOption('deepseek')
    await dialog.getByText('DEEPSEEK_API_KEY=').waitFor()
    await dialog.getByLabel(/^Another address/).fill('no address')
    await press('Show the change')
    await dialog.getByText(/^routes\.yaml:\d+:\d+$/).waitFor()
    t.notMatch(read(), 'deepseek')
    await check(t, 'a problem')
    await dialog.getByLabel(/^Another address/).fill(origin)
    t.same(await preview(), [
      `+  deepseek: { preset: deepseek, url: ${origin}, key: "\${DEEPSEEK_API_KEY:-}" }`,
    ])
    await check(t, 'the change')
    writeFileSync(join(folder, 'routes.yaml'), `${read()}# by hand\n`)
    await press('Save and go live')
    await dialog.getByText('was changed meanwhile').waitFor()
    await preview()
    await save()
    t.match(read(), '# by hand')
    await page.getByRole('row').filter({ hasText: 'deepseek' }).waitFor()
  })

  t.test('key: written into .env, it is live without a restart', async t => {
    writeFileSync(join(folder, '.env'), 'DEEPSEEK_API_KEY=sk-from-env\n')
    const row = page.getByRole('row').filter({ hasText: 'deepseek' })
    await eventually(async () => {
      await row.getByRole('button', { name: 'Test' }).click()
      return calls.at(-1)?.authorization === 'Bearer sk-from-env'
    })
    t.match(calls.at(-1), { url: /models$/ })
  })

  t.test('model: from the list of the provider; customers can call it', async t => {
    const row = page.getByRole('row').filter({ hasText: 'deepseek' })
    await row.getByRole('button', { name: 'Add a model' }).first().click()
    await dialog.locator('[data-offers="2"]').waitFor()
    t.same(
      await dialog.locator('datalist option').evaluateAll(all => all.map(({ value }) => value)),
      ['large', 'small'],
    )
    await dialog.getByLabel('Model', { exact: true }).fill('large')
    await press('Show the change')
    await dialog.getByText('Give the prices of the model').waitFor()
    await dialog.getByLabel('Price: Input').fill('1 / 1M')
    await dialog.getByLabel('Price: Output').fill('much')
    await press('Show the change')
    await dialog.getByText(/^routes\.yaml:\d+:\d+$/).waitFor()
    await dialog.getByLabel('Price: Output').fill('3 / 1M')
    await dialog.getByLabel(/^Other prices/).fill('web_search: 0.01')
    t.same(await preview(), [
      '+  large: { to: deepseek/large, price: { input: 1 / 1M, output: 3 / 1M, web_search: "0.01" } }',
    ])
    await check(t, 'a model')
    await save()
    t.match(await chat('large'), { status: 200 })
    t.same(calls.at(-1), { url: '/v1/chat/completions', authorization: 'Bearer sk-from-env' })
  })

  t.test('price: only the changed one is written, and the comment stays', async t => {
    await open('models?search=old')
    await page.getByRole('button', { name: 'Change prices' }).click()
    t.equal(await dialog.getByLabel('Price: Input').inputValue(), '1 / 1M')
    await press('Show the change')
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Price: Input').fill('4 / 1M')
    t.same(await preview(), [
      '-  old: { to: up/old, price: { input: 1 / 1M, output: 2 / 1M } } # list price',
      '+  old: { to: up/old, price: { input: 4 / 1M, output: 2 / 1M } } # list price',
    ])
    await check(t, 'a price')
    await save()
    await page.getByRole('row').filter({ hasText: 'old' }).getByText('4.00').first().waitFor()
  })

  t.test('limit: holds for the next calls; the form shows it', async t => {
    await open('routes/chat')
    await page.getByRole('button', { name: 'Set limits' }).click()
    await dialog.getByLabel('Rate limit').fill('often')
    await press('Show the change')
    await dialog.getByRole('alert').first().waitFor()
    await dialog.getByLabel('Rate limit').fill('1/h')
    t.same(await preview(), [`-${CHAT} }`, `+${CHAT}, limit: { requests: 1/h } }`])
    await check(t, 'a limit')
    await save()
    const statuses = [await chat('large'), await chat('large')].map(({ status }) => status)
    t.ok(statuses.includes(429), statuses.join())
    await page.getByRole('button', { name: 'Set limits' }).click()
    t.equal(await dialog.getByLabel('Rate limit').inputValue(), '1/h')
    await press('Cancel')
  })

  t.test('Chinese: the forms have it', async t => {
    await page.evaluate(`localStorage.setItem('tollgate-language', 'zh')`)
    await open('upstreams')
    await page.reload()
    await page.getByRole('button', { name: '添加提供商' }).click()
    await dialog.getByLabel('提供商').selectOption('groq')
    await press('查看更改')
    await dialog.getByRole('button', { name: '保存并生效' }).waitFor()
    await check(t, 'the change in Chinese')
    await press('取消')
    await page.evaluate(`localStorage.setItem('tollgate-language', 'en')`)
  })

  t.test('switched off: the forms are absent', async t => {
    writeFileSync(join(folder, 'routes.yaml'), `${read()}console: { edit: false }\n`)
    await operator.ask('POST', '/api/admin/configuration/reload', {})
    await open('upstreams')
    await page.reload()
    await page.getByRole('button', { name: 'Test' }).first().waitFor()
    for (const name of ['Add a provider', 'Add a model'])
      t.equal(await page.getByRole('button', { name }).count(), 0)
    t.same(faults, [])
  })
})
