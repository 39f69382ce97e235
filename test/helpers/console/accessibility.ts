/** Accessibility of a page of the console, as axe-core sees it. */
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Findings of axe-core that users notice. It runs in a world of its own: the policy of the page
 *  forbids inserted scripts. */
export const seriousFindings = async (page: Page): Promise<readonly string[]> => {
  const code = `${axe.source}; axe.run(document, { resultTypes: ['violations'] })`
  const { violations } = (await page.evaluate(code)) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
