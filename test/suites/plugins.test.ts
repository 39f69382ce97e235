/** Suite: tests of test/plugins that no other suite runs. */
import { FORMATS, LEDGER, MONEY, PRICES, runTests } from './run-tests.ts'

await runTests(['plugins/**/*.test.ts'], [...FORMATS, ...LEDGER, ...MONEY, ...PRICES])
