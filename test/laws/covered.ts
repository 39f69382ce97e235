/** Which test files have their coverage measured, with all processes that they start, and where it
 *  is written. These files run the whole engine; the others are faster without measurement. */
import { fileURLToPath } from 'node:url'

const MEASURED =
  /^test\/(?:suites\/(?:cli|commands|config|engine|store)\.|journeys\/(?:reload|websocket\/websocket-messages)\.)/
export const isMeasured = (file: string): boolean => MEASURED.test(file)

/** Each measured process writes its report here when it ends. */
export const COVERAGE = fileURLToPath(new URL('../../.tap/coverage', import.meta.url))
