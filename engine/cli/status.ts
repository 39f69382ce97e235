/** `tollgate status`: shows the live version, the workers and the last failed reload. */
import type { LiveView } from '../plugin.ts'
import { requestStatus } from '../processes/running-gateway.ts'
import type { SingleCommand, Terminal } from './command.ts'
import { EXIT } from './kit.ts'
import { askGateway } from './running.ts'

export default {
  summary: 'Shows what the running gateway serves, and its last failed reload.',
  example: 'status --json',
  options: {
    ready: {
      type: 'boolean',
      summary: 'exit with 3 unless the gateway is ready, for health checks',
    },
  },
  run: (args, terminal) =>
    askGateway(requestStatus, (view, terminal) => {
      terminal.print(describe(view, terminal))
      return args.values.ready === true && view.unready.length > 0 ? EXIT.runTime : EXIT.ok
    })(args, terminal),
} satisfies SingleCommand

const describe = (view: LiveView, terminal: Terminal): string => {
  const { version, hash, time, url, workers, unready, failure } = view
  const lines = [
    `${terminal.paint('bold', url)} serves #${version} (${hash}) since ${time}`,
    ...workers.map(
      each => `  worker ${each.number}: ${each.state}, #${each.version}, pid ${each.pid}`,
    ),
  ]
  for (const reason of unready) lines.push(terminal.paint('red', `not ready: ${reason}`))
  if (failure) {
    const { problems } = failure
    lines.push(terminal.paint('red', `a reload failed at ${failure.time}:`))
    for (const { file, line, column, code, message } of problems)
      lines.push(`  ${file}:${line}:${column}  ${code}  ${message}`)
  }
  return lines.join('\n')
}
