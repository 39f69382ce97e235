/** Suite: tests of the ledger. */
import { LEDGER, runTests } from './run-tests.ts'

await runTests(LEDGER)
