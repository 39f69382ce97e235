/** The tests of test/plugins that are about money, in one process. */
import { allOf, MONEY } from './all-of.ts'

await allOf(MONEY)
