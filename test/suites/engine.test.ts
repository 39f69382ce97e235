/** Suite: tests of test/engine that no other suite runs. */
import { runSuite } from './run-tests.ts'

runSuite('engine')
