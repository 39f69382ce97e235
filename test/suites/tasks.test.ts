/** Suite: tests of tasks, batches and files. */
import { runTests, TASKS } from './run-tests.ts'

runTests(TASKS)
