/** The journeys of stored responses, in one process and through one gateway. */
import { allOf } from './all-of.ts'

await allOf(['journeys/stored/*.test.ts'])
