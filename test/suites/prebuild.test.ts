/** Suite: test/release/prebuild.test.ts, which starts a copy of the program many times. */
import { runSuite } from './run-tests.ts'

runSuite('prebuild')
