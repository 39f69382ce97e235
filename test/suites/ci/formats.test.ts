/** Suite: tests of the suite `formats` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('formats', 'ci')
