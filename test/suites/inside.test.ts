/** Suite: journeys with a gateway in the process of the test. */
import { runSuite } from './run-tests.ts'

runSuite('inside')
