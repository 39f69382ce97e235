/** Finds the running gateway of a data folder (run.json) and sends requests to its admin listener.
 *  */
import { accessSync, constants, existsSync, readFileSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { writeAtomically } from '../config/disk.ts'
import { errors } from '../errors.ts'
import { isCode } from '../kit.ts'
import type { LiveView, ReloadReport } from '../plugin.ts'
import { makeFolder } from '../store/make-folder.ts'
import { adminSocketOf, requestOverSocket, type SocketRequest } from './admin-socket.ts'

/** <data>/run.json */
export interface RunningGateway {
  readonly pid: number
  readonly url: string
  readonly admin: string
  /** Path of the socket of its admin listener; undefined if it has none. */
  readonly socket?: string
  /** The store that it uses (`storeIdentity`). */
  readonly store?: string
}

const fileIn = (data: string): string => join(data, 'run.json')

export const writeRunFile = (data: string, running: RunningGateway): void => {
  makeFolder(data)
  writeAtomically(fileIn(data), `${JSON.stringify(running)}\n`, 0o600)
}
/** Removes run.json unless it belongs to another process. */
export const removeRunFile = (data: string, pid: number): void => {
  if (findRunning(data)?.pid === pid) rmSync(fileIn(data), { force: true })
}
export const findRunning = (data: string): RunningGateway | undefined => {
  try {
    const running = JSON.parse(readFileSync(fileIn(data), 'utf8')) as RunningGateway
    // In a container the folder may have another path.
    const near = adminSocketOf(data)
    return running.socket !== undefined && existsSync(near) ? { ...running, socket: near } : running
  } catch {
    return undefined
  }
}

/** Whether this user may not read the run file of the data folder. */
export const isForbidden = (data: string): boolean => {
  try {
    accessSync(fileIn(data), constants.R_OK)
    return false
  } catch (error) {
    return isCode(error, 'EACCES', 'EPERM')
  }
}

/** The response to a request, whatever its status: over the socket if the gateway has one, else
 *  over TCP. Rejects with a TypeError if no gateway responds, and with the error of the system if
 *  this user may not use the socket. */
export const requestAdmin = async (
  { admin, socket }: RunningGateway,
  path: string,
  init: SocketRequest = {},
): Promise<Response> => {
  if (socket === undefined) return fetch(new URL(path, admin), init)
  try {
    return await requestOverSocket(socket, path, init)
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ECONNREFUSED', 'ECONNRESET')) throw error
    throw new TypeError('no gateway listens on its socket', { cause: error })
  }
}
const request = async <T>(...args: Parameters<typeof requestAdmin>): Promise<T> => {
  const response = await requestAdmin(...args)
  if (response.status === 401) throw fault('ADMIN_CREDENTIAL', [args[0].admin, args[1]])
  return (await response.json()) as T
}
const fault = errors({
  ADMIN_CREDENTIAL: [
    401,
    'the gateway has no socket in its data folder (its log has the reason), and needs the credential of an operator: curl -H "Authorization: Bearer st-…" %s%s',
  ],
})
/** Whether the gateway of run.json still runs: one that crashed leaves the file, and another
 *  program may use its port by now. */
export const isAlive = async (running: RunningGateway): Promise<boolean> => {
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT)
  const health = await requestHealth(running, signal).catch(() => undefined)
  // It accepts, and does not answer: a gateway that is stopped or overloaded.
  return health === undefined ? signal.aborted && hasProcess(running) : health.pid === running.pid
}
const hasProcess = ({ pid }: RunningGateway): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}
/** ms. */
const HEALTH_TIMEOUT = 2_000
export const requestReload = (running: RunningGateway): Promise<ReloadReport> =>
  request(running, `/-/reload?${new URLSearchParams({ user: userName() })}`, { method: 'POST' })
/** Rolls back to version `to`, or to the previous version. */
export const requestRollback = (running: RunningGateway, to?: number): Promise<ReloadReport> => {
  const version = to === undefined ? {} : { to: String(to) }
  const query = new URLSearchParams({ ...version, user: userName() })
  return request(running, `/-/rollback?${query}`, { method: 'POST' })
}
/** Of the operating system; a container may run as a user without a name. */
const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? '')
  }
}
export const requestStatus = (running: RunningGateway): Promise<LiveView> =>
  request(running, '/-/config')
/** Over TCP, which every user of the machine may ask. */
const requestHealth = async (
  { admin }: RunningGateway,
  signal: AbortSignal,
): Promise<{ pid: number }> =>
  (await (await fetch(new URL('/-/health', admin), { signal })).json()) as { pid: number }
