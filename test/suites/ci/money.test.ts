/** Suite: tests of the suite `money` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('money', 'ci')
