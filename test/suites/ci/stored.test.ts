/** Suite: tests of the suite `stored` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('stored', 'ci')
