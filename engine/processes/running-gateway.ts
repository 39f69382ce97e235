/** Finds the running gateway of a data folder (run.json) and sends requests to its admin listener.
 *  */

import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeAtomically } from '../config/disk.ts'
import { envFileOf } from '../config/env-file.ts'
import type { LiveView, ReloadReport } from '../plugin.ts'
import { makeFolder } from '../store/make-folder.ts'

/** <data>/run.json */
export interface RunningGateway {
  readonly pid: number
  readonly url: string
  readonly admin: string
}

const fileIn = (data: string): string => join(data, 'run.json')

export const writeRunFile = (data: string, running: RunningGateway): void => {
  makeFolder(data)
  writeAtomically(fileIn(data), `${JSON.stringify(running)}\n`)
}
/** Removes run.json unless it belongs to another process. */
export const removeRunFile = (data: string, pid: number): void => {
  if (findRunning(data)?.pid === pid) rmSync(fileIn(data), { force: true })
}
export const findRunning = (data: string): RunningGateway | undefined => {
  try {
    return JSON.parse(readFileSync(fileIn(data), 'utf8')) as RunningGateway
  } catch {
    return undefined
  }
}

/** Whether `.env` has changed since the gateway of the data folder started, which reads it only
 *  then. */
export const hasNewEnvFile = (config: string, data: string): boolean => {
  const [changed = 0, started = 0] = [envFileOf(config), fileIn(data)].map(
    path => statSync(path, { throwIfNoEntry: false })?.mtimeMs,
  )
  return started > 0 && changed > started
}

/** Throws if no gateway responds. */
const request = async <T>(
  running: RunningGateway,
  method: string,
  path: string,
  signal?: AbortSignal,
): Promise<T> => {
  const response = await fetch(new URL(path, running.admin), { method, ...(signal && { signal }) })
  return (await response.json()) as T
}
/** The response to a GET, whatever its status. Rejects with a TypeError if no gateway responds. */
export const requestAdmin = ({ admin }: RunningGateway, path: string): Promise<Response> =>
  fetch(new URL(path, admin))
export const requestReload = (running: RunningGateway): Promise<ReloadReport> =>
  request(running, 'POST', '/-/reload')
/** Rolls back to version `to`, or to the previous version. */
export const requestRollback = (running: RunningGateway, to?: number): Promise<ReloadReport> =>
  request(running, 'POST', `/-/rollback${to === undefined ? '' : `?to=${to}`}`)
export const requestStatus = (running: RunningGateway): Promise<LiveView> =>
  request(running, 'GET', '/-/config')
export const requestHealth = (
  running: RunningGateway,
  signal: AbortSignal,
): Promise<{ pid: number }> => request(running, 'GET', '/-/health', signal)
