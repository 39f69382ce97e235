/** The journeys of formats whose gateway is inside the test's own process, in one process. */
import { allOf } from './all-of.ts'

await allOf(['journeys/inside-formats/*.test.ts'])
