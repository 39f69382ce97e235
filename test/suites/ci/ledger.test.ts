/** Suite: tests of the suite `ledger` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('ledger', 'ci')
