/** Suite: tests of the suite `unmeasured` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('unmeasured', 'ci')
