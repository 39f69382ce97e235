/** Suite: tests of the ledger. */
import { runSuite } from './run-tests.ts'

runSuite('ledger')
