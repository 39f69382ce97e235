/** Suite: journeys of billed calls, through one gateway. */
import { runSuite } from './run-tests.ts'

runSuite('billed')
