/** Suite: test/engine/cli. */
import { runTests } from './run-tests.ts'

await runTests(['engine/cli/**/*.test.ts'])
