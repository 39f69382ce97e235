/** Suite: tests whose coverage is not measured. */
import { runSuite } from './run-tests.ts'

runSuite('unmeasured')
