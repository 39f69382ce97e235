/** Every test of test/database, in one process. */
import { allOf } from './all-of.ts'

await allOf('database')
