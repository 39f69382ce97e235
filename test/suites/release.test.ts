/** Suite: test/release, whose tests install the same package. */
import { runSuite } from './run-tests.ts'

runSuite('release')
