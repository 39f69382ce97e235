/** The tests of test/plugins that need no more than themselves, in one process. */
import { allOf, MONEY } from './all-of.ts'

await allOf(['plugins/**/*.test.ts'], MONEY)
