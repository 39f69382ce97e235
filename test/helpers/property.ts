/** fast-check with the settings of all tests: `npm test` draws the same cases in every run, the
 *  long form new ones. A failing case of the long form becomes its own test. */
import fc from 'fast-check'
import { LONG, seed } from './run-settings.ts'

fc.configureGlobal(LONG && !process.env.SEED ? {} : { seed: seed() })

export default fc
