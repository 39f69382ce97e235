/** Suite: tests of tasks that no other suite runs. */
import { runTests, TASK_ENDPOINTS, TASKS } from './run-tests.ts'

runTests(TASKS, TASK_ENDPOINTS)
