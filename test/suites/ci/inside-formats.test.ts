/** Suite: tests of the suite `inside-formats` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('inside-formats', 'ci')
