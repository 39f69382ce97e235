/** Suite: tests of the suite `engine` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('engine', 'ci')
