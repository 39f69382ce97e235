/** Takes the pictures of the console for docs/images/console/, from a gateway with real calls:
 *  `npm run console:pictures -- [FOLDER]`. With `--all` every page in both themes, both sizes and
 *  both languages, to look at. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openWindow, startBrowser, type Window } from '../helpers/console/browser.ts'
import { type ConsoleClient, startConsole } from '../helpers/console/console-gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'

const isAll = process.argv.includes('--all')
const folder = process.argv[2]?.startsWith('--') ? undefined : process.argv[2]
const target = folder ?? join(import.meta.dirname, '../../docs/images/console')
const ends: (() => unknown)[] = []
const t = { teardown: (end: () => unknown) => void ends.push(end) }

const MODELS = ['gp-4.1', 'cl-haiku-4-5', 'gx-2.5-flash']
/** Real calls, a task, a file, a key with limits. */
const useAccount = async (ann: ConsoleClient, url: string) => {
  const { body: key } = await ann.ask('POST', '/api/keys', { name: 'laptop' })
  await ann.ask('POST', '/api/keys', { name: 'ci', quota: 500_000, limits: { requests: '60/min' } })
  const headers = { authorization: `Bearer ${key.data.key}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  for (let index = 0; index < 18; index++) {
    const content = 'Hello '.repeat(1 + (index % 7) * 40)
    const model = MODELS[index % 3] ?? ''
    await (
      await post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] })
    ).text()
  }
  const clip = { model: 'vdq3', prompt: 'A lighthouse at dawn', duration: 1, resolution: '540p' }
  const { task_id: id } = (await (await post('/ent/v2/text2video', clip)).json()) as {
    task_id: string
  }
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob(['{"custom_id":"1"}\n']), 'requests.jsonl')
  const { authorization } = headers
  await fetch(`${url}/v1/files`, { method: 'POST', headers: { authorization }, body: form })
  await eventually(async () => {
    const { body } = await ann.ask('GET', `/api/tasks/${id}`)
    return body.data.state === 'succeeded'
  })
  const { body: usage } = await ann.ask('GET', '/api/usage?limit=1&state=settled')
  return { task: id, request: String(usage.data[0]?.request_id) }
}

const save = async (page: Page, name: string) => {
  await page.waitForTimeout(150)
  await page.screenshot({ path: join(target, `${name}.png`) })
}
interface Shot {
  readonly name: string
  readonly address: string
  readonly width?: number
  readonly theme?: 'light' | 'dark'
  readonly language?: 'en' | 'zh'
  act?(page: Page): Promise<void>
}
const OF_RECORD = (ids: { task: string; request: string }): readonly Shot[] => [
  { name: 'overview', address: 'overview' },
  { name: 'usage', address: 'usage' },
  { name: 'call', address: `call/${ids.request}` },
  { name: 'keys-dark', address: 'keys', theme: 'dark' },
  { name: 'task', address: `task/${ids.task}` },
  { name: 'models-360', address: 'models', width: 360, theme: 'dark' },
  { name: 'notifications-zh', address: 'notifications', language: 'zh' },
]
const ADDRESSES = [
  'overview',
  'keys',
  'usage',
  'usage?by=model',
  'tasks',
  'files',
  'batches',
  'models',
  'playground',
  'playground?format=video',
  'notifications',
  'personal',
  'call/nothing',
]
const allShots = (ids: { task: string; request: string }): readonly Shot[] =>
  [...ADDRESSES, `call/${ids.request}`, `task/${ids.task}`].flatMap(address =>
    ([1440, 360] as const).flatMap(width =>
      (['light', 'dark'] as const).map((theme): Shot => {
        const language = theme === 'dark' ? 'zh' : 'en'
        const name = `${address.replace(/[^a-z]+/gi, '-').slice(0, 24)}-${width}-${theme}`
        return { name, address, width, theme, language }
      }),
    ),
  )

mkdirSync(target, { recursive: true })
try {
  const [gateway, browser] = await Promise.all([startConsole(t), startBrowser(t)])
  const ann = await gateway.customer('ann', 100)
  const ids = await useAccount(ann, gateway.url)
  const windows = new Map<string, Window>()
  for (const shot of isAll ? allShots(ids) : OF_RECORD(ids)) {
    const { name, address, width = 1000, theme = 'light', language = 'en' } = shot
    const key = `${width} ${theme}`
    const window =
      windows.get(key) ?? (await openWindow(t, browser, gateway, { width, theme, as: ann }))
    windows.set(key, window)
    await window.open(address)
    await window.page.evaluate(`localStorage.setItem('tollgate-language', '${language}')`)
    // The page before is gone: what is there afterwards belongs to this address.
    await window.page.reload()
    await window.open(address)
    await shot.act?.(window.page)
    await save(window.page, name)
  }
} finally {
  for (const end of ends.reverse()) await end()
}
