/** Suite: journeys of stored responses, through one gateway. */
import { runTests } from './run-tests.ts'

runTests(['journeys/stored/*.test.ts'])
