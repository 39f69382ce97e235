/** The tests of test/plugins that are about formats, in one process. */
import { allOf, FORMATS } from './all-of.ts'

await allOf(FORMATS)
