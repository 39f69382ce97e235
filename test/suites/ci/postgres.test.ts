/** Suite: tests of the suite `postgres` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('postgres', 'ci')
