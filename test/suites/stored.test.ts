/** Suite: journeys of stored responses, through one gateway. */
import { runTests } from './run-tests.ts'

await runTests(['journeys/stored/*.test.ts'])
