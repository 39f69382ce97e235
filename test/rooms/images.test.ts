/** The journeys of models that draw, in one process. */
import { allOf } from './all-of.ts'

await allOf(['journeys/images/*.test.ts'])
