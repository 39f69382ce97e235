/** Suite: test/engine/store, without crashing processes and without PostgreSQL only. */
import { CRASHES, runTests } from './run-tests.ts'

await runTests(['engine/store/{*,sqlite/*}.test.ts'], CRASHES)
