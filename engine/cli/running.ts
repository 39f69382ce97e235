/** Requests of CLI commands to the running gateway of a data folder, and the output of reloads. */
import type { ReloadReport } from '../processes/reload.ts'
import { findRunning, type RunningGateway } from '../processes/running-gateway.ts'
import { configOf, type SingleCommand, type Terminal } from './command.ts'
import { EXIT } from './kit.ts'
import { settingsOf } from './offline.ts'

/** Sends a request to the running gateway; prints a hint if none responds. */
export function askGateway<Answer>(
  ask: (running: RunningGateway) => Promise<Answer>,
  show: (answer: Answer, terminal: Terminal) => number,
): SingleCommand['run'] {
  return async (args, terminal) => {
    const { data } = settingsOf(configOf(args, terminal), terminal)
    const running = findRunning(data)
    const answer = running && (await ask(running).catch(silent))
    if (!answer) {
      terminal.say(`no gateway of the data folder "${data}" is running; start one: tollgate start`)
      return EXIT.runTime
    }
    if (!args.values.json) return show(answer, terminal)
    terminal.out(JSON.stringify(answer, null, 2))
    return show(answer, { ...terminal, out: () => {} })
  }
}
/** Whether the gateway of run.json has crashed: its address refuses connections. */
const silent = (error: unknown): undefined => {
  if (!(error instanceof TypeError)) throw error
}

export function showReport(
  { outcome, text, problems = [] }: ReloadReport,
  terminal: Terminal,
): number {
  terminal.out(text)
  if (outcome !== 'problems') return EXIT.ok
  const elsewhere = problems.length > 0 && problems.every(({ code }) => ELSEWHERE.has(code))
  return elsewhere ? EXIT.runTime : EXIT.problems
}
/** Not a problem of the configuration. */
const ELSEWHERE: ReadonlySet<string> = new Set(['NO_VERSION', 'LOAD_FAILED'])
