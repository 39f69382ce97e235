/** Suite: test/engine/config. */
import { runTests } from './run-tests.ts'

await runTests(['engine/config/**/*.test.ts'])
