/** Every test of test/engine, in one process, save the dear ones. */
import { allOf, DEAR } from './all-of.ts'

await allOf(['engine/**/*.test.ts'], DEAR)
