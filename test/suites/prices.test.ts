/** Suite: tests of prices and limits, and of stores whose processes crash. */
import { runSuite } from './run-tests.ts'

runSuite('prices')
