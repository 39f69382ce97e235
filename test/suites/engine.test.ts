/** Suite: tests of test/engine that no other suite runs. */
import { runTests, SUBSYSTEMS, UNMEASURED } from './run-tests.ts'

await runTests(['engine/**/*.test.ts'], [...UNMEASURED, ...SUBSYSTEMS])
