/** Suite: journeys with a gateway in the process of the test. */
import { runTests } from './run-tests.ts'

runTests(['journeys/inside/*.test.ts'])
