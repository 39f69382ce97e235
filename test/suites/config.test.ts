/** Suite: test/engine/config. */
import { runSuite } from './run-tests.ts'

runSuite('config')
