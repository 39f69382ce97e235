/** The tests of test/engine that no other process has, in one process. */
import { allOf, DEAR, SUBSYSTEMS } from './all-of.ts'

await allOf(['engine/**/*.test.ts'], [...DEAR, ...SUBSYSTEMS])
