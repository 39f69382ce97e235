/** Hostile texts in every field of every answer that a page of the console shows: they stay texts,
 *  and the content security policy has nothing to report. */
import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { sessionOf, startSample } from '../../helpers/console/sample-gateway.ts'
import { isData, isStream, show, type View, viewsOf } from '../../helpers/console/views.ts'
import { scaled } from '../../helpers/machine-speed.ts'

/** Runs if it is taken for markup, an attribute, a script or an address. */
const HOSTILE = `javascript:globalThis.hurt=1//'"><img src=x onerror=globalThis.hurt=1><script>globalThis.hurt=1</script>`

t.test('console: hostile texts in every answer', { skip: missingBrowser }, async t => {
  const [gateway, browser] = await Promise.all([startSample(t), startBrowser(t)])
  const views = viewsOf(gateway).filter(({ state }) => !state)

  for (const role of ['customer', 'operator'] as const)
    t.test(`${role}: they stay texts`, async t => {
      const window = await openWindow(t, browser, gateway, sessionOf(gateway, role))
      const { page, faults } = window
      page.setDefaultTimeout(PATIENCE)
      const unopened: string[] = []
      let visible = 0
      for (const view of views.filter(each => each.role === role)) {
        await show(window, gateway.url, view, HOSTILE_ANSWERS).catch(error => {
          if (!view.act) throw error
          unopened.push(view.name.replace(/-req_\w+/, ''))
        })
        await checkHarmless(t, page, view)
        if ((await page.evaluate(IS_VISIBLE)) === true) visible++
      }
      t.same(unopened, UNOPENED[role], 'other dialogs and forms are opened and sent')
      t.ok(visible >= 12, `the text itself is visible on ${visible} pages`)
      t.same(faults, [], 'no error, no report of the content security policy')
    })
})

/** ms until a dialog is given up. */
const PATIENCE = scaled(4_000)
/** Views without a button when each word of the answers is another text. */
const UNOPENED: Readonly<Record<'customer' | 'operator', readonly string[]>> = {
  customer: ['customer-personal-sign-out', 'customer-notifications-refused'],
  operator: [
    'operator-call-refund',
    'operator-upstreams-tested',
    'operator-routes-chat-limits',
    'operator-editor-file-notes-yaml-problems',
  ],
}

const IS_VISIBLE = `document.querySelector('#app').innerText.includes('onerror=globalThis')
  || document.querySelector('main textarea')?.value.includes('onerror=globalThis') === true`

const checkHarmless = async (t: Test, page: Page, { name }: View): Promise<void> => {
  t.equal(await page.evaluate('globalThis.hurt'), undefined, name)
  const links = await page.locator('a[href^="javascript:" i], #app img[src=x], #app script').count()
  t.equal(links, 0, `${name}: no element is made of a text`)
}

/** Replaces the texts of an answer, and adds a hostile member to each object of its data. */
const poison = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return isTime(value) || isNumber(value) ? value : HOSTILE
  if (Array.isArray(value)) return value.map(each => poison(each, depth))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, poison(each, depth + 1)])
  return { ...Object.fromEntries(entries), ...(depth > 1 && { [HOSTILE]: HOSTILE }) }
}
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\d/.test(text)
const isNumber = (text: string): boolean => text !== '' && Number.isFinite(Number(text))
const HOSTILE_ANSWERS = async (page: Page): Promise<void> => {
  await page.route(isData, async (route: Route) => {
    if (isStream(route)) return route.continue()
    const response = await route.fetch()
    const text = await response.text()
    if (!text.startsWith('{')) return route.fulfill({ response })
    return route.fulfill({ response, json: poison(JSON.parse(text)) })
  })
}
