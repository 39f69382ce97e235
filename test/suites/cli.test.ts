/** Suite: test/engine/cli. */
import { runTests } from './run-tests.ts'

runTests(['engine/cli/**/*.test.ts'])
