/** Suite: tests of accounts, credentials, idempotency and webhooks. */
import { runSuite } from './run-tests.ts'

runSuite('money')
