/** Suite: tests of the suite `inside` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('inside', 'ci')
