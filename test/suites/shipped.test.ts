/** Suite: journeys through the shipped routes.yaml, through one gateway. */
import { runSuite } from './run-tests.ts'

runSuite('shipped')
