/** Suite: tests of the suite `accounts` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('accounts', 'ci')
