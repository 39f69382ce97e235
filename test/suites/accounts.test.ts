/** Suite: journeys of keys and usage, through one gateway. */
import { runTests } from './run-tests.ts'

await runTests(['journeys/accounts/*.test.ts'])
