/** Suite: tests of test/engine/store that need PostgreSQL only. */
import { runTests } from './run-tests.ts'

await runTests(['engine/store/postgres/*.test.ts'])
