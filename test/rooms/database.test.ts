/** Every test of test/database, in one process, save the dear ones and those of PostgreSQL only. */
import { allOf, DEAR } from './all-of.ts'

await allOf(['database/*.test.ts'], DEAR)
