/** Suite: tests of the suite `billed` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('billed', 'ci')
