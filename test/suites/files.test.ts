/** Suite: tests of files and batches. */
import { runSuite } from './run-tests.ts'

runSuite('files')
