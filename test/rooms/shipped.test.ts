/** The journeys through the shipped routes.yaml, in one process and through one gateway. */
import { allOf } from './all-of.ts'

await allOf(['journeys/shipped/*.test.ts'])
