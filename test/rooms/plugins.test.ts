/** Every test of test/plugins, in one process. */
import { allOf } from './all-of.ts'

await allOf(['plugins/**/*.test.ts'])
