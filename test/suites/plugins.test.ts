/** Suite: tests of test/plugins that no other suite runs. */
import { FILES, FORMATS, LEDGER, MONEY, PRICES, runTests, TASKS } from './run-tests.ts'

runTests(['plugins/**/*.test.ts'], [...FORMATS, ...LEDGER, ...MONEY, ...PRICES, ...TASKS, ...FILES])
