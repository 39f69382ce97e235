/** Suite: test/release, whose tests install the same package. */
import { runTests } from './run-tests.ts'

runTests(['release/*.test.ts'], ['release/prebuild.test.ts'])
