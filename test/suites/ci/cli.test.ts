/** Suite: tests of the suite `cli` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('cli', 'ci')
