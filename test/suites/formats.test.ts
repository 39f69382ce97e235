/** Suite: tests of formats. */
import { FORMATS, runTests } from './run-tests.ts'

runTests(FORMATS)
