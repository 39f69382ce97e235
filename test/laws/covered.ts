/** Which test files have their coverage measured, with all that they start, and where it is written: those that between them
 *  run the whole engine. The others confirm what it does, and are quicker unmeasured. */
import { fileURLToPath } from 'node:url'

const MEASURED =
  /^test\/(?:rooms\/(?:cli|config|engine|store)\.|journeys\/(?:reload|websocket\/websocket-messages)\.)/
export const isMeasured = (file: string): boolean => MEASURED.test(file)

/** What each process of them reports when it ends. */
export const COVERAGE = fileURLToPath(new URL('../../.tap/coverage', import.meta.url))
