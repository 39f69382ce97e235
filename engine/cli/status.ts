/** `tollgate status`: shows the live version, the workers and the last failed reload. */
import type { ConfigView } from '../processes/admin-listener.ts'
import { requestStatus } from '../processes/running-gateway.ts'
import type { SingleCommand, Terminal } from './command.ts'
import { EXIT } from './kit.ts'
import { askGateway } from './running.ts'

export default {
  summary: 'Shows what the running gateway serves, and its last failed reload.',
  example: 'status --json',
  run: askGateway(requestStatus, (view, terminal) => {
    terminal.print(describe(view, terminal))
    return EXIT.ok
  }),
} satisfies SingleCommand

const describe = (view: ConfigView, terminal: Terminal): string => {
  const { version, hash, time, url, workers, failure } = view
  const lines = [
    `${terminal.paint('bold', url)} serves #${version} (${hash}) since ${time}`,
    ...workers.map(
      each => `  worker ${each.number}: ${each.state}, #${each.version}, pid ${each.pid}`,
    ),
  ]
  if (failure) {
    const { problems } = failure
    lines.push(terminal.paint('red', `a reload failed at ${failure.time}:`))
    for (const { file, line, column, code, message } of problems)
      lines.push(`  ${file}:${line}:${column}  ${code}  ${message}`)
  }
  return lines.join('\n')
}
