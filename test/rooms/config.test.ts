/** Every test of test/config, in one process. */
import { allOf } from './all-of.ts'

await allOf(['config/**/*.test.ts'])
