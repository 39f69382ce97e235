/** Suite: tests of accounts, credentials, idempotency and webhooks. */
import { MONEY, runTests } from './run-tests.ts'

await runTests(MONEY)
