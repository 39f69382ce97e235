/** Suite: tests of test/plugins that no other suite runs. */
import { runSuite } from './run-tests.ts'

runSuite('plugins')
