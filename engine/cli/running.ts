/** `tollgate status`, `reload` and `rollback`: what a running gateway of this data folder is asked. */

import type { ConfigView } from '../processes/admin-listener.ts'
import type { Report } from '../processes/reload.ts'
import {
  askReload,
  askRollback,
  askStatus,
  findRunning,
  type Running,
} from '../processes/running-gateway.ts'
import { EXIT, UsageError } from './kit.ts'
import { settingsOf } from './offline.ts'
import { configOf, type Terminal, type Verb } from './verb.ts'

export const status = {
  summary: 'Shows what the running gateway serves, and its last failed reload.',
  example: 'status --json',
  run: asking(askStatus, (view, terminal) => {
    terminal.out(describe(view, terminal))
    return EXIT.ok
  }),
} satisfies Verb

export const reload = {
  summary: 'Brings the files live, where they differ from what is served.',
  example: 'reload',
  run: asking(askReload, showReport),
} satisfies Verb

export const rollback = {
  usage: '[VERSION]',
  summary: 'Puts an earlier version live again: the one named, or the one before.',
  example: 'rollback 12',
  takes: [0, 1],
  run(args, terminal) {
    const [version] = args.positionals
    if (version !== undefined && !/^#?[1-9]\d*$/.test(version))
      throw new UsageError(`a version is a number, not "${version}"; see tollgate status`)
    const to = version === undefined ? undefined : Number(version.replace('#', ''))
    return asking(running => askRollback(running, to), showReport)(args, terminal)
  },
} satisfies Verb

/** Asks the gateway that announced itself; where none answers, that is said with the way out. */
function asking<Answer>(
  ask: (running: Running) => Promise<Answer>,
  show: (answer: Answer, terminal: Terminal) => number,
): Verb['run'] {
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
/** Nobody listens at the address that was announced: it ended without a word. */
const silent = (error: unknown): undefined => {
  if (!(error instanceof TypeError)) throw error
}

function showReport({ outcome, text, problems = [] }: Report, terminal: Terminal): number {
  terminal.out(text)
  if (outcome !== 'problems') return EXIT.ok
  const elsewhere = problems.length > 0 && problems.every(({ code }) => ELSEWHERE.has(code))
  return elsewhere ? EXIT.runTime : EXIT.problems
}
/** Nothing is wrong with the configuration then. */
const ELSEWHERE: ReadonlySet<string> = new Set(['NO_VERSION', 'LOAD_FAILED'])

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
