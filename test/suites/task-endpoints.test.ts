/** Suite: tests of the endpoints of tasks and of what they give out. */
import { runTests, TASK_ENDPOINTS } from './run-tests.ts'

runTests(TASK_ENDPOINTS)
