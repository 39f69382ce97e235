/** Suite: tests of the suite `task-endpoints` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('task-endpoints', 'ci')
