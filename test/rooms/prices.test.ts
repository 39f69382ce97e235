/** The tests of test/plugins that are about prices and limits, and those of stores whose processes die, in one process. */
import { allOf, DYING, PRICES } from './all-of.ts'

await allOf([...PRICES, ...DYING])
