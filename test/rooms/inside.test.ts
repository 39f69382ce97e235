/** The journeys through a gateway that is inside the test's own process, in one process. */
import { allOf } from './all-of.ts'

await allOf(['journeys/inside/*.test.ts'])
