/** Checks views of the console in a browser: accessible in both themes, sizes and languages, and
 *  nothing wider than the screen. */
import type { Test } from 'tap'
import { LONG } from '../run-settings.ts'
import { contrastFindings, seriousFindings } from './accessibility.ts'
import { openWindow, startBrowser, type Window } from './browser.ts'
import { sessionOf, startSample } from './sample-gateway.ts'
import { type Role, show, viewsOf } from './views.ts'

/** Widths of telephones. */
const NARROW = [390, 360]

export const checkViews = async (t: Test, roles: readonly Role[]): Promise<void> => {
  const [gateway, browser] = await Promise.all([startSample(t), startBrowser(t)])
  // Dialogs and states of a page are checked in long runs.
  const views = viewsOf(gateway).filter(({ act, state }) => LONG || (!act && !state))
  for (const role of roles) {
    t.test(`${role}: accessible and within the screen, in both themes and sizes`, async t => {
      const window = await openWindow(t, browser, gateway, sessionOf(gateway, role))
      const { page, faults } = window
      for (const view of views.filter(each => each.role === role)) {
        await page.setViewportSize({ width: 1440, height: 900 })
        await page.emulateMedia({ colorScheme: 'light' })
        await show(window, gateway.url, view)
        for (const width of [1440, ...NARROW]) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme: 'light' })
          t.same(await seriousFindings(page), [], `${view.name}, ${width} px, light`)
          await page.emulateMedia({ colorScheme: 'dark' })
          t.same(await contrastFindings(page), [], `${view.name}, ${width} px, dark`)
          t.same(await page.evaluate(WIDER), [], `${view.name}, ${width} px: nothing is wider`)
          if (width === NARROW[0]) await checkHidden(t, window, view.name)
          if (width === 1440)
            t.same(await page.evaluate(CUT_OFF), [], `${view.name}: no column is cut off`)
        }
      }
      t.same(faults, [])
    })
    t.test(`${role}: accessible and within the screen in Chinese`, async t => {
      const options = { ...sessionOf(gateway, role), locale: 'zh-CN' } as const
      const window = await openWindow(t, browser, gateway, options)
      const { page, faults } = window
      // Dialogs and forms are opened by the names of their buttons, which are English.
      for (const view of views.filter(each => each.role === role && !each.act)) {
        await page.setViewportSize({ width: 1440, height: 900 })
        await show(window, gateway.url, view)
        t.equal(await page.locator('html').getAttribute('lang'), 'zh', view.name)
        t.same(await seriousFindings(page), [], view.name)
        t.same(await page.evaluate(CUT_OFF), [], `${view.name}: no column is cut off`)
        for (const width of NARROW) {
          await page.setViewportSize({ width, height: 900 })
          t.same(await seriousFindings(page), [], `${view.name}, ${width} px`)
          t.same(await page.evaluate(WIDER), [], `${view.name}, ${width} px: nothing is wider`)
        }
      }
      t.same(faults, [])
    })
  }
}

/** Texts of tables that a narrow screen leaves out: a button shows them all. */
const HIDDEN = `[...document.querySelectorAll(':is(.wide-only, .widest-only, .extra-only)')]
  .filter(each => each.innerText !== '' && getComputedStyle(each).display === 'none')
  .map(each => each.outerHTML.slice(0, 120))`
const checkHidden = async (t: Test, { page }: Window, name: string): Promise<void> => {
  if (((await page.evaluate(HIDDEN)) as readonly string[]).length === 0) return
  const press = async (label: string): Promise<void> => {
    const buttons = page.getByRole('button', { name: label, exact: true })
    while ((await buttons.count()) > 0) await buttons.first().click()
  }
  await press('All columns')
  t.same(await page.evaluate(HIDDEN), [], `${name}: what is left out can be shown`)
  t.same(await page.evaluate(WIDER), [], `${name}: nothing is wider with all columns`)
  await press('Fewer columns')
}

/** Elements that are wider than the screen, outside of boxes that scroll. */
export const WIDER = `(() => {
  const scrolls = element => {
    for (let each = element; each; each = each.parentElement)
      if (/auto|scroll|hidden/.test(getComputedStyle(each).overflowX) && each !== document.body) return true
    return false
  }
  return [...document.querySelectorAll('main *, dialog *')]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(each))
    .map(each => each.outerHTML.slice(0, 120))
})()`

/** Titles of tables whose last column covers a part of the others: they scroll sideways. */
const CUT_OFF = `[...document.querySelectorAll('.table-box')]
  .filter(each => each.scrollWidth > each.clientWidth)
  .map(each => each.ariaLabel)`
