/** The journeys of keys and usage, in one process and through one gateway. */
import { allOf } from './all-of.ts'

await allOf(['journeys/accounts/*.test.ts'])
