/** Suite: tests of the suite `shipped` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('shipped', 'ci')
