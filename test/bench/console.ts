/** `npm run bench:console`: measures the console in Debian's chromium: bytes of the first load,
 *  time until it can be used, and frames while 10,000 rows of usage are scrolled. */
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { openWindow, startBrowser } from '../helpers/console/browser.ts'
import { type ConsoleGateway, startConsole } from '../helpers/console/console-gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { fillUsage } from './ledger-fixture.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '5' },
    width: { type: 'string', default: '1440' },
  },
})
/** px in a frame: 24,000 px a second, all rows in 17 s. */
const STEP = 400
/** ms; the longest frame that nobody notices. */
const LONGEST = 50

interface Frames {
  /** ms between frames. */
  readonly deltas: readonly number[]
  /** ms of tasks longer than 50 ms. */
  readonly tasks: readonly number[]
  /** Cumulative layout shift. */
  readonly shift: number
}
/** Scrolls to the end of the page, a step a frame, or until `limit` frames have passed. */
const scrollDown = (page: Page): Promise<Frames> =>
  page.evaluate(`new Promise(resolve => {
    const deltas = [], tasks = []
    let shift = 0
    const observer = new PerformanceObserver(list => {
      for (const each of list.getEntries())
        if (each.entryType === 'longtask') tasks.push(each.duration)
        else shift += each.value
    })
    observer.observe({ type: 'longtask' })
    observer.observe({ type: 'layout-shift' })
    scrollTo(0, 0)
    let last, still = 0, before = -1
    const frame = now => {
      if (last !== undefined) deltas.push(now - last)
      last = now
      scrollBy(0, ${STEP})
      still = scrollY === before ? still + 1 : 0
      before = scrollY
      if (still < 120) requestAnimationFrame(frame)
      else { observer.disconnect(); resolve({ deltas: deltas.slice(0, -120), tasks, shift }) }
    }
    requestAnimationFrame(frame)
  })`)

const report = (name: string, { deltas, tasks, shift }: Frames): void => {
  const sorted = deltas.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)
  const long = sorted.filter(each => each > LONGEST).length
  const worst = (sorted.at(-1) ?? 0).toFixed(1)
  console.log(
    `${name}: ${sorted.length} frames, median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${worst} ms; ` +
      `over ${LONGEST} ms: ${long} frames, ${tasks.length} tasks; layout shift ${shift.toFixed(4)}`,
  )
}

/** Bytes that cross the wire until the page can be used, and how long that takes. */
const measureLoad = async (page: Page, { url }: ConsoleGateway) => {
  let bytes = 0
  const files: string[] = []
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.responseReceived', ({ response }) => files.push(response.url))
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  const start = performance.now()
  await page.goto(`${url}/console#/overview`)
  await page.getByRole('button', { name: '30 days' }).waitFor()
  const usable = performance.now() - start
  await page.locator('.tile').first().waitFor()
  const ready = performance.now() - start
  await session.detach()
  return { bytes, usable, ready, files: files.filter(each => each.includes('/console')).length }
}

const ends: (() => unknown)[] = []
const t = { teardown: (end: () => unknown) => void ends.push(end) }
try {
  const [gateway, browser] = await Promise.all([startConsole(t), startBrowser(t)])
  await fillUsage(gateway.data, Number(values.rows))
  const as = await gateway.signIn({ token: gateway.token })
  for (let round = 1; round <= Number(values.rounds); round++) {
    const { page } = await openWindow(t, browser, gateway, { as })
    const { bytes, usable, ready, files } = await measureLoad(page, gateway)
    console.log(
      `first load ${round}: ${(bytes / 1_000).toFixed(1)} kB in ${files} files, ` +
        `usable after ${usable.toFixed(0)} ms, with data after ${ready.toFixed(0)} ms`,
    )
    await page.context().close()
  }
  const { page, open } = await openWindow(t, browser, gateway, { as, width: Number(values.width) })
  await open('usage')
  report('scrolled while rows are loaded', await scrollDown(page))
  await eventually(async () => {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    return (await page.getByText(`Rows: ${values.rows}`, { exact: true }).count()) > 0
  })
  for (let round = 1; round <= Number(values.rounds); round++)
    report(`scrolled with all rows, ${round}`, await scrollDown(page))
} finally {
  for (const end of ends.reverse()) await end()
}
