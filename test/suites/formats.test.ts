/** Suite: tests of formats. */
import { FORMATS, runTests } from './run-tests.ts'

await runTests(FORMATS)
