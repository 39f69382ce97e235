/** What the operating system's signals mean to a gateway. */

interface Heeding {
  /** `code`: of the program, where it is stopped a second time. */
  stop(code: number): Promise<void>
  reload(): void
  renew(): void
}

/** ms between two looks at the parent process. */
const LOOK = 250
/** ms within which a signal that comes twice under npm is one: its group had it, and npm passes it on. */
const ECHO = 1_000

/** Returns how to stop heeding. */
export const heed = (primary: Heeding): (() => void) => {
  const byNpm = isStartedByNpm(process.env)
  const stop = byNpm ? withoutEcho(code => primary.stop(code)) : primary.stop.bind(primary)
  const listeners: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ['SIGTERM', () => void stop(143)],
    ['SIGINT', () => void stop(130)],
    ['SIGHUP', () => primary.reload()],
    ['SIGUSR2', () => primary.renew()],
  ]
  for (const [signal, listener] of listeners) process.on(signal, listener)
  // Not every npm passes every signal on, and none does that was killed.
  const unwatch = byNpm ? watchParent(() => void stop(143)) : () => {}
  return () => {
    unwatch()
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}

/** By the `start` script of this package: whoever started npm knows no other process. */
const isStartedByNpm = ({
  npm_lifecycle_event: event,
  npm_package_name: name,
}: NodeJS.ProcessEnv) => event === 'start' && name === 'tollgate'

const withoutEcho = (stop: (code: number) => Promise<void>) => {
  let last = Number.NEGATIVE_INFINITY
  return async (code: number): Promise<void> => {
    const now = performance.now()
    if (now - last < ECHO) return
    last = now
    await stop(code)
  }
}

/** Calls `gone` once, when another process has become the parent. Returns how to stop. */
const watchParent = (gone: () => void): (() => void) => {
  const { ppid } = process
  const timer = setInterval(() => {
    if (process.ppid === ppid) return
    clearInterval(timer)
    gone()
  }, LOOK).unref()
  return () => clearInterval(timer)
}
