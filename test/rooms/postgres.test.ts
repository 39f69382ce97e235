/** The tests of test/engine/store that need PostgreSQL only, in one process. */
import { allOf } from './all-of.ts'

await allOf(['engine/store/postgres/*.test.ts'])
