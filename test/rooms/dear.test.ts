/** The tests whose coverage is better not measured, in one process. */
import { allOf, DEAR } from './all-of.ts'

await allOf(DEAR)
