/** Suite: tests of formats. */
import { runSuite } from './run-tests.ts'

runSuite('formats')
