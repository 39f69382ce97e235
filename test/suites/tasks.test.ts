/** Suite: tests of tasks that no other suite runs. */
import { runSuite } from './run-tests.ts'

runSuite('tasks')
