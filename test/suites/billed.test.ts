/** Suite: journeys of billed calls, through one gateway. */
import { runTests } from './run-tests.ts'

await runTests(['journeys/billed/*.test.ts'])
