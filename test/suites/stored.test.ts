/** Suite: journeys of stored responses, through one gateway. */
import { runSuite } from './run-tests.ts'

runSuite('stored')
