/** The tests of test/plugins that are about accounts, credentials, idempotency and webhooks, in one process. */
import { allOf, MONEY } from './all-of.ts'

await allOf(MONEY)
