/** Suite: test/engine/cli, without the commands that start gateways or copy stores. */
import { runSuite } from './run-tests.ts'

runSuite('cli')
