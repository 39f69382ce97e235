/** Suite: journeys with a gateway in the process of the test. */
import { runTests } from './run-tests.ts'

await runTests(['journeys/inside/*.test.ts'])
