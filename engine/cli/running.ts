/** Requests of commands to the running gateway of a data folder, and the output of reloads. */
import type { ReloadReport } from '../processes/reload.ts'
import { findRunning, type RunningGateway } from '../processes/running-gateway.ts'
import { configOf, type SingleCommand, type Terminal } from './command.ts'
import { EXIT } from './kit.ts'
import { settingsOf } from './offline.ts'

/** Sends a request to the running gateway; prints a hint if none responds. */
export function askGateway<View>(
  request: (running: RunningGateway) => Promise<View>,
  show: (response: View, terminal: Terminal) => number,
): SingleCommand['run'] {
  return async (args, terminal) => {
    const { data } = settingsOf(configOf(args, terminal), terminal)
    const running = findRunning(data)
    const response = running && (await request(running).catch(ignoreRefused))
    if (!response) {
      terminal.printError(
        `no gateway of the data folder "${data}" is running; start one: tollgate start`,
      )
      return EXIT.runTime
    }
    if (!args.values.json) return show(response, terminal)
    terminal.print(JSON.stringify(response, null, 2))
    return show(response, { ...terminal, print: () => {} })
  }
}
/** Ignores a refused connection: the gateway of run.json has crashed. */
const ignoreRefused = (error: unknown): undefined => {
  if (!(error instanceof TypeError)) throw error
}

export function showReport(
  { outcome, text, problems = [] }: ReloadReport,
  terminal: Terminal,
): number {
  terminal.print(text)
  if (outcome !== 'problems') return EXIT.ok
  const isRunTime = problems.length > 0 && problems.every(({ code }) => RUN_TIME_CODES.has(code))
  return isRunTime ? EXIT.runTime : EXIT.problems
}
/** Codes of problems that are not in the configuration. */
const RUN_TIME_CODES: ReadonlySet<string> = new Set(['NO_VERSION', 'LOAD_FAILED'])
