/** Suite: tests of the suite `store` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('store', 'ci')
