/** The journeys of calls that are paid for, in one process and through one gateway. */
import { allOf } from './all-of.ts'

await allOf(['journeys/billed/*.test.ts'])
