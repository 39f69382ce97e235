/** `tollgate rollback`: puts an earlier version live again. */
import { requestRollback } from '../processes/running-gateway.ts'
import type { SingleCommand } from './command.ts'
import { UsageError } from './kit.ts'
import { askGateway, showReport } from './running.ts'

export default {
  arguments: '[VERSION]',
  summary: 'Puts an earlier version live: the given number, or the previous one.',
  example: 'rollback 12',
  async run(args, terminal) {
    const [version] = args.positionals
    if (version !== undefined && !/^#?[1-9]\d{0,14}$/.test(version))
      throw new UsageError(`a version is a number, not "${version}"; see tollgate status`)
    const to = version === undefined ? undefined : Number(version.replace('#', ''))
    return askGateway(running => requestRollback(running, to), showReport)(args, terminal)
  },
} satisfies SingleCommand
