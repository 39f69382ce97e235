/** Every test of test/database, in one process, save those of processes that die and those of PostgreSQL only. */
import { allOf, DYING } from './all-of.ts'

await allOf(['database/*.test.ts'], DYING)
