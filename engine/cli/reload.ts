/** `tollgate reload`: brings the files live. */
import { requestReload } from '../processes/running-gateway.ts'
import { asking, showReport } from './running.ts'
import type { Verb } from './verb.ts'

export default {
  summary: 'Brings the files live, where they differ from what is served.',
  example: 'reload',
  run: asking(requestReload, showReport),
} satisfies Verb
