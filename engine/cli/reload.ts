/** `tollgate reload`: loads the files and puts them live. */
import { requestReload } from '../processes/running-gateway.ts'
import { asking, showReport } from './running.ts'
import type { Verb } from './verb.ts'

export default {
  summary: 'Loads the files and puts them live if they differ from the live version.',
  example: 'reload',
  run: asking(requestReload, showReport),
} satisfies Verb
