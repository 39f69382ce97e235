/** The tests of test/plugins that are about the ledger, in one process. */
import { allOf, LEDGER } from './all-of.ts'

await allOf(LEDGER)
