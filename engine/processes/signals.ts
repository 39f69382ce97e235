/** What the operating system's signals mean to a gateway. */

interface Heeding {
  /** `code`: of the program, where it is stopped a second time. */
  stop(code: number): Promise<void>
  reload(): void
  renew(): void
}

/** Returns how to stop heeding. */
export const heed = (primary: Heeding): (() => void) => {
  const listeners: readonly (readonly [NodeJS.Signals, () => void])[] = [
    ['SIGTERM', () => void primary.stop(143)],
    ['SIGINT', () => void primary.stop(130)],
    ['SIGHUP', () => primary.reload()],
    ['SIGUSR2', () => primary.renew()],
  ]
  for (const [signal, listener] of listeners) process.on(signal, listener)
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}
