/** Suite: tests whose coverage is not measured. */
import { runTests, UNMEASURED } from './run-tests.ts'

runTests(UNMEASURED)
