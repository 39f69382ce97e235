/** Suite: tests of the suite `files` that are left to CI. */
import { runSuite } from '../run-tests.ts'

runSuite('files', 'ci')
