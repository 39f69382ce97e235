/** Suite: tests of test/engine/store that need PostgreSQL only. */
import { runSuite } from './run-tests.ts'

runSuite('postgres')
