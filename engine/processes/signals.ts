/** Signal handling of the primary: stop, reload and renew. */
import { readFileSync } from 'node:fs'

interface SignalActions {
  /** `code`: exit code of the program if a second signal stops it at once. */
  stop(code: number): Promise<void>
  reload(): void
  renew(): void
}

/** ms between two checks of the parent process. */
const CHECK_INTERVAL = 250
/** ms within which two signals count as one under npm or a launcher: the process group receives the
 *  signal, and the process above forwards it once more. */
const ECHO_WINDOW = 1_000

/** Installs the signal handlers. Returns a function that removes them. */
export const onSignals = (primary: SignalActions): (() => void) => {
  const isBelowOther = isBelowLauncher() || isBelowNpm(process.env)
  const stop = isBelowOther ? withoutEcho(code => primary.stop(code)) : primary.stop.bind(primary)
  const listeners: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ['SIGTERM', () => void stop(143)],
    ['SIGINT', () => void stop(130)],
    ['SIGQUIT', () => void stop(131)],
    ['SIGHUP', () => primary.reload()],
    ['SIGUSR2', () => primary.renew()],
  ]
  for (const [signal, listener] of listeners) process.on(signal, listener)
  // npm or the launcher may end without passing a signal on: its end then stops the gateway.
  const unwatch = isBelowOther ? watchParent(() => void stop(143)) : () => {}
  return () => {
    unwatch()
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}

/** Whether `npm start` (of any package) or npx runs this process: then only the process above is
 *  known outside. As in engine/bin.cjs. */
const isBelowNpm = (env: NodeJS.ProcessEnv): boolean =>
  env.npm_lifecycle_event === 'start' || env.npm_lifecycle_event === 'npx'

/** Whether an old Node changed to this one (engine/bin.cjs): only a child of it has its channel,
 *  which is closed if the old Node has ended already. */
const isBelowLauncher = (): boolean =>
  process.env.TOLLGATE_CHANGED_RUNTIME !== undefined && process.connected !== undefined

const withoutEcho = (stop: (code: number) => Promise<void>) => {
  let last = Number.NEGATIVE_INFINITY
  return async (code: number): Promise<void> => {
    const now = performance.now()
    if (now - last < ECHO_WINDOW) return
    last = now
    await stop(code)
  }
}

/** Calls `onExit` once when the parent process has ended, or npm above the shell that it started:
 *  that shell outlives npm. Returns a function that stops the watch. */
const watchParent = (onExit: () => void): (() => void) => {
  const { ppid } = process
  const shells = shellsBelowNpm(ppid)
  const timer = setInterval(() => {
    const isSame = shells.every(shell => readParent(shell.pid) === shell.parent)
    if (process.ppid === ppid && !isLauncherGone() && isSame) return
    clearInterval(timer)
    onExit()
  }, CHECK_INTERVAL).unref()
  return () => clearInterval(timer)
}

const isLauncherGone = (): boolean => isBelowLauncher() && !process.connected

interface Shell {
  readonly pid: number
  readonly parent: number
}
/** Most processes between npm and this one. */
const DEPTH = 4
/** The processes from `pid` up to a child of npm, which names itself in its title; none if that
 *  cannot be read. */
const shellsBelowNpm = (pid: number, depth: number = DEPTH): readonly Shell[] => {
  const parent = depth > 0 && !isNpm(pid) ? readParent(pid) : undefined
  if (parent === undefined || parent <= 1) return []
  const above = shellsBelowNpm(parent, depth - 1)
  return above.length > 0 || isNpm(parent) ? [{ pid, parent }, ...above] : []
}
const isNpm = (pid: number): boolean => /\(npm /.test(readStat(pid))
const readParent = (pid: number): number | undefined => {
  const [, parent] = /^.*\) \S (\d+) /s.exec(readStat(pid)) ?? []
  return parent === undefined ? undefined : Number(parent)
}
/** Empty if there is no /proc, and after the process has ended. */
const readStat = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
