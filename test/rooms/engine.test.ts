/** Every test of test/engine, in one process. */
import { allOf } from './all-of.ts'

await allOf('engine')
