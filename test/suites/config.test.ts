/** Suite: test/engine/config. */
import { runTests } from './run-tests.ts'

runTests(['engine/config/**/*.test.ts'])
