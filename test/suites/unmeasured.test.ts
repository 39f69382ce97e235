/** Suite: tests whose coverage is not measured. */
import { runTests, UNMEASURED } from './run-tests.ts'

await runTests(UNMEASURED)
