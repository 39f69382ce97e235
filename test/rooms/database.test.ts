/** Every test of test/database, in one process, save the dear ones. */
import { allOf, DEAR } from './all-of.ts'

await allOf(['database/**/*.test.ts'], DEAR)
