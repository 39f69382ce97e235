/** Suite: commands of test/engine/cli that start gateways of their own or copy whole stores. */
import { COMMANDS, runTests } from './run-tests.ts'

runTests(COMMANDS)
