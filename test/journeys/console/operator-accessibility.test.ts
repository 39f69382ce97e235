/** Every view of operators in a browser: accessible in both themes and sizes, and nothing
 *  wider than the screen. */
import t from 'tap'
import { missingBrowser } from '../../helpers/console/browser.ts'
import { checkViews } from '../../helpers/console/check-views.ts'

t.test('console: every view of operators', { skip: missingBrowser }, t =>
  checkViews(t, ['operator']),
)
