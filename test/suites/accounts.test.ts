/** Suite: journeys of keys and usage, through one gateway. */
import { runSuite } from './run-tests.ts'

runSuite('accounts')
