/** Every view of the console in a browser: accessible in both themes and sizes, and nothing wider
 *  than the screen. */
import t from 'tap'
import { contrastFindings, seriousFindings } from '../../helpers/console/accessibility.ts'
import { missingBrowser, openWindow, startBrowser } from '../../helpers/console/browser.ts'
import { sessionOf, startSample } from '../../helpers/console/sample-gateway.ts'
import { type Role, show, viewsOf } from '../../helpers/console/views.ts'
import { LONG } from '../../helpers/run-settings.ts'

const ROLES: readonly Role[] = ['visitor', 'newcomer', 'customer', 'operator']

t.test('console: every view', { skip: missingBrowser }, async t => {
  const [gateway, browser] = await Promise.all([startSample(t), startBrowser(t)])
  // What a dialog or a state adds to its page is looked at in long runs.
  const views = viewsOf(gateway).filter(({ act, state }) => LONG || (!act && !state))

  for (const role of ROLES)
    t.test(`${role}: accessible and within the screen, in both themes and sizes`, async t => {
      const window = await openWindow(t, browser, gateway, sessionOf(gateway, role))
      const { page, faults } = window
      for (const view of views.filter(each => each.role === role)) {
        await page.setViewportSize({ width: 1440, height: 900 })
        await show(window, gateway.url, view)
        for (const width of [1440, 360]) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme: 'light' })
          t.same(await seriousFindings(page), [], `${view.name}, ${width} px, light`)
          await page.emulateMedia({ colorScheme: 'dark' })
          t.same(await contrastFindings(page), [], `${view.name}, ${width} px, dark`)
          t.same(
            await page.evaluate(OVERFLOWING),
            [],
            `${view.name}, ${width} px: nothing sticks out`,
          )
        }
      }
      t.same(faults, [])
    })
})

/** Elements that are wider than the screen, outside of boxes that scroll. */
const OVERFLOWING = `(() => {
  const scrolls = element => {
    for (let each = element; each; each = each.parentElement)
      if (/auto|scroll|hidden/.test(getComputedStyle(each).overflowX) && each !== document.body) return true
    return false
  }
  return [...document.querySelectorAll('main *, dialog *')]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(each))
    .map(each => each.outerHTML.slice(0, 120))
})()`
