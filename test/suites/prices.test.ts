/** Suite: tests of prices and limits, and of stores whose processes crash. */
import { CRASHES, PRICES, runTests } from './run-tests.ts'

await runTests([...PRICES, ...CRASHES])
