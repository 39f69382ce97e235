/** The tests of test/database that need PostgreSQL only, in one process. */
import { allOf } from './all-of.ts'

await allOf(['database/postgres/*.test.ts'])
