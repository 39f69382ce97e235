/** `tollgate start`: runs the gateway until a signal stops it. */
import { collectWhenIdle } from '../processes/memory/idle-memory.ts'
import { startGateway } from '../processes/primary.ts'
import { configOf, type SingleCommand } from './command.ts'
import { programVersion } from './version.ts'

export default {
  summary: 'Runs the gateway until a signal stops it; reloads changed files.',
  example: 'start --config routes.yaml',
  run: (args, terminal) => {
    collectWhenIdle()
    return startGateway({
      config: configOf(args, terminal),
      isAnyway: args.values.anyway === true,
      program: `tollgate ${programVersion()}`,
      say: text => terminal.printError(args.values.json ? JSON.stringify({ text }) : text),
    })
  },
} satisfies SingleCommand
