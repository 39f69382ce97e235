/** Suite: test/engine/cli, without the commands that start gateways or copy stores. */
import { COMMANDS, runTests } from './run-tests.ts'

runTests(['engine/cli/**/*.test.ts'], COMMANDS)
