/** Accessibility of a page of the console, as axe-core sees it. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Findings of axe-core that users notice. It runs in a world of its own: the policy of the page
 *  forbids inserted scripts. */
export const seriousFindings = (page: Page): Promise<readonly string[]> => findings(page, {})
/** Of what a theme changes. */
export const contrastFindings = (page: Page): Promise<readonly string[]> =>
  findings(page, { runOnly: ['color-contrast'] })

const findings = async (page: Page, options: object): Promise<readonly string[]> => {
  const all = { resultTypes: ['violations'], ...options }
  const code = `${axe.source}; axe.run(document, ${JSON.stringify(all)})`
  const { violations } = (await page.evaluate(code)) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
