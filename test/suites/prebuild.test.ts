/** Suite: test/release/prebuild.test.ts, which starts a copy of the program many times. */
import { runTests } from './run-tests.ts'

runTests(['release/prebuild.test.ts'])
