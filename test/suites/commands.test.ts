/** Suite: commands of test/engine/cli that start gateways of their own or copy whole stores. */
import { runSuite } from './run-tests.ts'

runSuite('commands')
