/** Requests of commands to the running gateway of a data folder, and the output of reloads. */
import { existsSync } from 'node:fs'
import { errors } from '../errors.ts'
import { isCode } from '../kit.ts'
import type { Json, ReloadReport } from '../plugin.ts'
import {
  findRunning,
  isForbidden,
  type RunningGateway,
  requestAdmin,
} from '../processes/running-gateway.ts'
import { configOf, type SingleCommand, type Terminal } from './command.ts'
import { EXIT } from './kit.ts'
import { settingsOf } from './load-for-command.ts'

/** Sends a request to the running gateway; prints a hint if none responds. */
export function askGateway<View extends object>(
  request: (running: RunningGateway) => Promise<View>,
  show: (response: View, terminal: Terminal) => number,
): SingleCommand['run'] {
  return async (args, terminal) => {
    const { data } = settingsOf(configOf(args, terminal), terminal)
    const running = findRunning(data)
    const response = running && (await request(running).catch(refusalOf(data, running)))
    if (!response || typeof response === 'string') {
      terminal.printError(response ?? noGateway(data))
      return EXIT.runTime
    }
    const { error } = response as { readonly error?: Json }
    if (typeof error === 'string') {
      terminal.printError(`the gateway refused it: ${error}`)
      return EXIT.runTime
    }
    if (!args.values.json) return show(response, terminal)
    terminal.print(JSON.stringify(response, null, 2))
    return show(response, { ...terminal, print: () => {} })
  }
}
const noGateway = (data: string): string => {
  if (isForbidden(data)) return `this user may not read the data folder "${data}": ${OTHER_USER}`
  return existsSync(data)
    ? `no gateway of the data folder "${data}" is running; start one: tollgate start`
    : `there is no data folder "${data}"; start a gateway: tollgate start (if one is running, its folder was deleted: its log says so, and GET /-/ready of its admin listener)`
}
const OTHER_USER =
  'run the command as the user of the gateway, or send the request to its admin listener with the credential of an operator: curl -H "Authorization: Bearer st-…"'
const otherUser = (data: string, { pid, admin }: RunningGateway): string =>
  `the gateway of the data folder "${data}" (process ${pid}) belongs to another user: ${OTHER_USER} ${admin}/-/config`
const fault = errors({
  NO_GATEWAY: [503, '%s'],
  ADMIN_REFUSED: [502, 'the gateway refused it: %s'],
})

/** The JSON of a path of the admin listener. Rejects with a fault if no gateway runs. */
export const askAdmin = async (data: string, path: string): Promise<Json> => {
  const running = findRunning(data)
  const response = running && (await requestAdmin(running, path).catch(refusalOf(data, running)))
  if (!response || typeof response === 'string')
    throw fault('NO_GATEWAY', [response ?? noGateway(data)])
  const body = (await response.json()) as Json
  if (response.ok) return body
  const { message } = (body as { readonly error?: { readonly message?: string } }).error ?? {}
  throw fault('ADMIN_REFUSED', [message ?? `${path} answered ${response.status}`])
}
/** A refused connection: the gateway of run.json has crashed. Another user's socket: the reason. */
const refusalOf =
  (data: string, running: RunningGateway) =>
  (error: unknown): string | undefined => {
    if (isCode(error, 'EACCES', 'EPERM')) return otherUser(data, running)
    if (isCode(error, 'ADMIN_CREDENTIAL')) return (error as Error).message
    if (!(error instanceof TypeError)) throw error
    return undefined
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
