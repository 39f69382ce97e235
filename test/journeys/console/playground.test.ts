/** The playground in a browser: a conversation of turns with an image and a temperature in each
 *  format, a model found by its name, and the request as code that real programs run. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { startConsole } from '../../helpers/console/console-gateway.ts'

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const run = promisify(execFile)
/** Keeps copied text where a test reads it: a headless browser has no clipboard. */
const KEEP_COPIES = `Object.defineProperty(navigator, 'clipboard', {
  value: { writeText: text => { globalThis.copied = text; return Promise.resolve() } } })`

/** An upstream for `cl-` models, which keeps what it was asked. */
const startAnthropic = async (t: Test) => {
  const requests: { readonly system?: unknown; readonly messages?: unknown }[] = []
  const server = createServer(async (request, response) => {
    requests.push((await json(request)) as object)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = [
      { type: 'message_start', message: MESSAGE },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Arr.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
    for (const each of events)
      response.write(`event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`)
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 1 },
}

t.test('playground', { skip: missingBrowser }, async t => {
  const anthropic = await startAnthropic(t)
  const [gateway, browser] = await Promise.all([
    startConsole(t, { env: { ANTHROPIC_BASE_URL: anthropic.url, ANTHROPIC_API_KEY: 'sk-a' } }),
    startBrowser(t),
  ])
  const ann = await gateway.customer('ann', 100)
  const { body: key } = await ann.ask('POST', '/api/keys', { name: 'code' })
  const env = { ...process.env, KEY: String(key.data.key) }

  t.test('turns, image, temperature: each format sends the whole conversation', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    const IMAGES: Readonly<Record<string, RegExp>> = {
      openai: /"image_url":\{"url":"data:image\/png;base64,iVBOR/,
      responses: /"type":"input_image","image_url":"data:image\/png;base64,iVBOR/,
      anthropic: /"type":"base64","media_type":"image\/png","data":"iVBOR/,
      gemini: /"inlineData":\{"mimeType":"image\/png","data":"iVBOR/,
    }
    for (const [format, image] of Object.entries(IMAGES)) {
      await open(`playground?format=${format}&model=gp-4.1`)
      const send = async (text: string) => {
        await page.getByLabel('Message').fill(text)
        const sending = page.waitForRequest(/completions|responses|messages|streamGenerate/)
        await page.getByRole('button', { name: 'Send' }).click()
        const body = (await sending).postDataJSON()
        await page.locator('[data-charge]').getByText('CNY').waitFor()
        return JSON.stringify(body)
      }
      await page.getByLabel('Temperature').fill('0.5')
      await page
        .getByLabel(/^Images/)
        .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: PIXEL })
      await page.getByRole('img', { name: 'Image 1' }).waitFor()
      const first = await send('What is this?')
      t.match(first, image, format)
      t.match(first, /"temperature":0\.5/)
      const answer = (await page.locator('[data-answer]').textContent()) ?? ''
      t.match(answer, 'You wrote')
      const second = await send('And now?')
      t.match(second, image, 'the image stays in the conversation')
      t.ok(second.includes(JSON.stringify(answer)), 'the answer is a turn')
      t.match(second, /What is this\?.*"(assistant|model)".*And now\?/)
      t.same(await page.locator('[data-turn]').evaluateAll(each => each.length), 3)
      t.same(await seriousFindings(page), [], format)
      await page.getByRole('button', { name: 'New conversation' }).click()
      t.notMatch(await send('Alone'), /And now/)
    }
    t.same(faults, [])
  })

  t.test('system prompt: is in the request that goes to the upstream, in each format', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    for (const format of ['openai', 'responses', 'anthropic', 'gemini']) {
      await open(`playground?format=${format}&model=cl-haiku-4-5`)
      await page.getByLabel(/^System prompt/).fill(`Talk like a pirate of ${format}`)
      await page.getByLabel('Message').fill('Hello')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.locator('[data-charge]').getByText('CNY').waitFor()
      const { system, messages } = anthropic.requests.at(-1) ?? {}
      t.match(JSON.stringify(system), `Talk like a pirate of ${format}`, format)
      t.match(JSON.stringify(messages), 'Hello')
      t.notMatch(JSON.stringify(messages), 'pirate', 'it is not a turn')
    }
    t.equal(anthropic.requests.length, 4)
    t.same(faults, [])
  })

  t.test('model: a search finds it, another text keeps the one before', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann, width: 390 })
    await open('playground?model=gp-4.1')
    const field = page.getByLabel('Model')
    t.equal(await field.inputValue(), 'gp-4.1')
    const options = page.locator('datalist option')
    t.ok((await options.count()) > 10)
    await field.fill('nothing')
    await page.getByText('gp-4.1 is used until a name is whole').waitFor()
    await field.fill('cl-haiku-4-5')
    await page.waitForURL(/model=cl-haiku-4-5/)
    t.same(await seriousFindings(page), [])
    t.same(faults, [])
  })

  t.test('copy as: programs send the request as it was', async t => {
    const { page, faults, open } = await openWindow(t, browser, gateway, { as: ann })
    await page.addInitScript(KEEP_COPIES)
    await open('playground?format=openai&model=gp-4.1')
    await page.getByLabel('Message').fill(`It's "quoted" \\ $KEY \`x\` ü 😀`)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('[data-charge]').getByText('CNY').waitFor()
    const PROGRAMS = {
      curl: ['sh', ['-c']],
      Python: ['python3', ['-c']],
      JavaScript: [process.execPath, ['--input-type=module', '-e']],
    } as const
    for (const [name, [program, args]] of Object.entries(PROGRAMS)) {
      await page.getByRole('button', { name, exact: true }).click()
      const code = String(await page.evaluate('globalThis.copied'))
      const { stdout } = await run(program, [...args, code], { env })
      const answer = stdout
        .split('\n')
        .filter(line => line.startsWith('data: {'))
        .map(line => JSON.parse(line.slice(6)).choices?.[0]?.delta?.content ?? '')
        .join('')
      t.match(answer, `It's "quoted" \\ $KEY \`x\` ü 😀`, name)
    }
    t.same(faults, [])
  })
  t.end()
})
