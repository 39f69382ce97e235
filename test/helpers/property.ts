/** fast-check as every test here uses it: `npm test` draws the same cases in every run, the long form new ones each time.
 *  A case found there becomes a test of its own. */
import fc from 'fast-check'
import { LONG } from './long.ts'
import { seed } from './seeded.ts'

fc.configureGlobal(LONG && !process.env.SEED ? {} : { seed: seed() })

export default fc
