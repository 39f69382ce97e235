/** How other programs of this machine find a running gateway, and what they may ask of it. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigView } from './admin-listener.ts'
import type { Report } from './reload.ts'

/** <data>/run.json */
export interface Running {
  readonly pid: number
  readonly url: string
  readonly admin: string
}

const fileIn = (data: string): string => join(data, 'run.json')

export const announce = (data: string, running: Running): void => {
  mkdirSync(data, { recursive: true })
  const draft = `${fileIn(data)}.${running.pid}`
  writeFileSync(draft, `${JSON.stringify(running)}\n`)
  renameSync(draft, fileIn(data))
}
/** Leaves another gateway's announcement alone. */
export const withdraw = (data: string, pid: number): void => {
  if (findRunning(data)?.pid === pid) rmSync(fileIn(data), { force: true })
}
export const findRunning = (data: string): Running | undefined => {
  try {
    return JSON.parse(readFileSync(fileIn(data), 'utf8')) as Running
  } catch {
    return undefined
  }
}

/** Throws where no gateway answers. */
const ask = async <T>(
  running: Running,
  method: string,
  path: string,
  signal?: AbortSignal,
): Promise<T> => {
  const response = await fetch(new URL(path, running.admin), { method, ...(signal && { signal }) })
  return (await response.json()) as T
}
export const askReload = (running: Running): Promise<Report> => ask(running, 'POST', '/-/reload')
/** To the version named, or to the one before. */
export const askRollback = (running: Running, to?: number): Promise<Report> =>
  ask(running, 'POST', `/-/rollback${to === undefined ? '' : `?to=${to}`}`)
export const askStatus = (running: Running): Promise<ConfigView> => ask(running, 'GET', '/-/config')
export const askHealth = (running: Running, signal: AbortSignal): Promise<{ pid: number }> =>
  ask(running, 'GET', '/-/health', signal)
