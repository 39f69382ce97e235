/** Suite: tests of the endpoints of tasks and of what they give out. */
import { runSuite } from './run-tests.ts'

runSuite('task-endpoints')
