/** Suite: tests of the suite `config` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('config', 'ci')
