/** A real browser for tests of the console: Debian's chromium, driven by playwright. Records what
 *  the page must never have: errors, violations of its content security policy, requests to other
 *  origins. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page, type Request } from 'playwright-core'
import type { Test } from 'tap'
import { eventually } from '../gateway/primary.ts'
import type { ConsoleClient, ConsoleGateway } from './console-gateway.ts'

const CHROMIUM = '/usr/bin/chromium'
/** Why the tests of this file are skipped, or false. */
export const missingBrowser: string | false = existsSync(CHROMIUM)
  ? false
  : 'needs chromium: apt-get install chromium'

export interface Window {
  readonly page: Page
  /** Sentences about what went wrong so far. */
  readonly faults: string[]
  /** Opens a page of the console by its address, such as `usage?by=day`. */
  open(address: string): Promise<void>
}
interface WindowOptions {
  readonly width?: number
  readonly theme?: 'light' | 'dark'
  /** The language of the browser. */
  readonly locale?: 'en-GB' | 'zh-CN'
  /** Whose session the browser has. */
  readonly as?: ConsoleClient
}

/** Without a processor for graphics, which a machine for tests would emulate; one process shows the
 *  pages of all windows. */
const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--renderer-process-limit=1']
const FRAMES = 'new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))'

export const startBrowser = async (t: Pick<Test, 'teardown'>): Promise<Browser> => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS })
  t.teardown(() => browser.close())
  return browser
}

/** Opens a window until the test ends: an open one goes on to draw and to follow events. */
export const openWindow = async (
  t: Pick<Test, 'teardown'>,
  browser: Browser,
  { url }: Pick<ConsoleGateway, 'url'>,
  { width = 1440, theme = 'light', locale = 'en-GB', as }: WindowOptions = {},
): Promise<Window> => {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    locale,
    reducedMotion: 'reduce',
  })
  t.teardown(() => context.close())
  const [name = '', value = ''] = as?.cookie.split('=') ?? []
  if (as) await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }])
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', error => faults.push(`error: ${error.message}`))
  page.on('console', message => {
    // Refusals that a test provokes are logged by the browser.
    const isRefusal = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isRefusal) faults.push(`console: ${message.text()}`)
  })
  let running = 0
  // A stream of events never ends.
  const count = (request: Request, change: number) => {
    if (request.resourceType() !== 'eventsource') running += change
  }
  page.on('requestfinished', request => count(request, -1))
  page.on('requestfailed', request => count(request, -1))
  page.on('request', request => {
    count(request, 1)
    const isOwn = request.url().startsWith(url) || /^(?:blob|data):/.test(request.url())
    if (!isOwn) faults.push(`a request to ${request.url()}`)
  })
  return {
    page,
    faults,
    async open(address) {
      await page.goto(`${url}/console#/${address}`)
      await page.locator('h1').first().waitFor()
      // The page shows loaded data in its next frames.
      await eventually(() => running === 0)
      await page.evaluate(FRAMES)
      await eventually(() => running === 0)
      await page.evaluate(FRAMES)
    },
  }
}
