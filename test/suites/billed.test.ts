/** Suite: journeys of billed calls, through one gateway. */
import { runTests } from './run-tests.ts'

runTests(['journeys/billed/*.test.ts'])
