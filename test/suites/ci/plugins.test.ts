/** Suite: tests of the suite `plugins` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('plugins', 'ci')
