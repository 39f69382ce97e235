/** Suite: tests of the suite `prices` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('prices', 'ci')
