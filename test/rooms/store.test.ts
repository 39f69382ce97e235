/** Every test of test/engine/store, in one process, save those of processes that die and those of PostgreSQL only. */
import { allOf, DYING } from './all-of.ts'

await allOf(['engine/store/{*,sqlite/*}.test.ts'], DYING)
