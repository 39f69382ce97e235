/** Suite: tests of files and batches. */
import { FILES, runTests } from './run-tests.ts'

runTests(FILES)
