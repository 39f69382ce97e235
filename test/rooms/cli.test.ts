/** Every test of test/engine/cli, in one process. */
import { allOf } from './all-of.ts'

await allOf(['engine/cli/**/*.test.ts'])
