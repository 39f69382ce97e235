/** `tollgate reload`: loads the files and puts them live. */
import { requestReload } from '../processes/running-gateway.ts'
import type { SingleCommand } from './command.ts'
import { askGateway, showReport } from './running.ts'

export default {
  summary: 'Loads the files and puts them live if they differ from the live version.',
  example: 'reload',
  run: askGateway(requestReload, showReport),
} satisfies SingleCommand
