/** Every test of test/engine/config, in one process. */
import { allOf } from './all-of.ts'

await allOf(['engine/config/**/*.test.ts'])
