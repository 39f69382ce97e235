/** Suite: journeys through the shipped routes.yaml, through one gateway. */
import { runTests } from './run-tests.ts'

await runTests(['journeys/shipped/*.test.ts'])
