/** The tests of test/plugins that no other room has, in one process. */
import { allOf, FORMATS, LEDGER, MONEY, PRICES } from './all-of.ts'

await allOf(['plugins/**/*.test.ts'], [...FORMATS, ...LEDGER, ...MONEY, ...PRICES])
