/** Every test of test/cli, in one process. */
import { allOf } from './all-of.ts'

await allOf(['cli/**/*.test.ts'])
