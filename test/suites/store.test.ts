/** Suite: test/engine/store, without crashing processes and without PostgreSQL only. */
import { runSuite } from './run-tests.ts'

runSuite('store')
