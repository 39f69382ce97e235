/** Takes the pictures of the console for docs/images/console/, from a gateway with real data:
 *  `npm run console:pictures -- [FOLDER]`. With `--all` every view in both themes, both sizes and
 *  both languages, to look at; with `--only TEXT` those whose name contains it (`360-dark`). */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { openWindow, startBrowser, type Window } from '../helpers/console/browser.ts'
import { type SampleGateway, sessionOf, startSample } from '../helpers/console/sample-gateway.ts'
import { show, type View, viewsOf } from '../helpers/console/views.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
})
const target = positionals[0] ?? join(import.meta.dirname, '../../docs/images/console')
const ends: (() => unknown)[] = []
const t = { teardown: (end: () => unknown) => void ends.push(end) }

interface Look {
  readonly width: number
  readonly theme: 'light' | 'dark'
  readonly language: 'en' | 'zh'
}
interface Shot extends Look {
  readonly name: string
  readonly view: View
}
const LOOKS: readonly Look[] = [
  { width: 1440, theme: 'light', language: 'en' },
  { width: 1440, theme: 'dark', language: 'zh' },
  { width: 360, theme: 'light', language: 'en' },
  { width: 360, theme: 'dark', language: 'zh' },
]
/** ms */
const PATIENCE = 8_000
/** px; of pictures to look at, which show what is below the screen as well. */
const TALLEST = 1_600

/** Name of the picture -> name of the view, and how it differs from light at 1000 px. */
const OF_RECORD: Readonly<Record<string, readonly [view: string, look?: Partial<Look>]>> = {
  overview: ['customer-overview'],
  usage: ['customer-usage'],
  call: ['customer-receipt'],
  'keys-dark': ['customer-keys', { theme: 'dark' }],
  task: ['customer-task'],
  'models-360': ['customer-models', { width: 360, theme: 'dark' }],
  'notifications-zh': ['customer-notifications', { language: 'zh' }],
  accounts: ['operator-accounts'],
  story: ['operator-story'],
  'upstreams-dark': ['operator-upstreams-tested', { theme: 'dark' }],
  configuration: ['operator-configuration'],
  'editor-dark': ['operator-editor-file-notes-yaml-problems', { theme: 'dark' }],
  'live-360': ['operator-live', { width: 360 }],
}
const shotsOfRecord = (views: readonly View[]): readonly Shot[] =>
  Object.entries(OF_RECORD).flatMap(([name, [of, look]]) => {
    const view = views.find(each => each.name === of)
    if (!view) throw new Error(`no view ${of}`)
    return [{ name, view, width: 1000, theme: 'light', language: 'en', ...look }]
  })
const allShots = (views: readonly View[]): readonly Shot[] =>
  LOOKS.flatMap(look =>
    views.map(view => ({ ...look, view, name: `${view.name}-${look.width}-${look.theme}` })),
  )

const SWITCH_LANGUAGE = `[...document.querySelectorAll('.side-tools button')].at(-1)?.click()`

const save = async (page: Page, name: string): Promise<void> => {
  await page.waitForTimeout(150)
  const path = join(target, `${name}.png`)
  if (!values.all) return void (await page.screenshot({ path }))
  const { width = 0 } = page.viewportSize() ?? {}
  const tall = Number(await page.evaluate('document.documentElement.scrollHeight'))
  const isDialog = (await page.locator('dialog').count()) > 0
  const height = Math.min(Math.max(tall, 900), isDialog ? 900 : TALLEST)
  await page.setViewportSize({ width, height })
  await page.waitForTimeout(50)
  await page.screenshot({ path })
  await page.setViewportSize({ width, height: 900 })
}

const windowOf = async (
  browser: Awaited<ReturnType<typeof startBrowser>>,
  gateway: SampleGateway,
  { width, theme, view }: Shot,
): Promise<Window> => {
  const window = await openWindow(t, browser, gateway, {
    width,
    theme,
    ...sessionOf(gateway, view.role),
  })
  window.page.setDefaultTimeout(PATIENCE)
  return window
}

mkdirSync(target, { recursive: true })
try {
  const [gateway, browser] = await Promise.all([startSample(t), startBrowser(t)])
  const views = viewsOf(gateway)
  const windows = new Map<string, Window>()
  for (const shot of values.all ? allShots(views) : shotsOfRecord(views)) {
    if (!shot.name.includes(values.only)) continue
    const key = `${shot.width} ${shot.theme} ${shot.view.role}`
    const window = windows.get(key) ?? (await windowOf(browser, gateway, shot))
    windows.set(key, window)
    await show(window, gateway.url, shot.view).catch(error => {
      process.stderr.write(`${shot.name}: ${error.message}\n`)
    })
    // Views are opened by their English texts.
    if (shot.language === 'zh') await window.page.evaluate(SWITCH_LANGUAGE)
    await save(window.page, shot.name)
    if (shot.language === 'zh') await window.page.evaluate(`localStorage.clear()`)
  }
  for (const { faults } of windows.values())
    for (const each of faults) process.stderr.write(`${each}\n`)
} finally {
  for (const end of ends.reverse()) await end()
}
