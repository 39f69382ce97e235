/** Suite: tests of the suite `tasks` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('tasks', 'ci')
