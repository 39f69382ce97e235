/** A thread that ends the process when the plugin which it loads makes no progress. Only a signal
 *  ends a process whose loop of events does not turn. */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

export interface GuardState {
  /** Counts steps and heartbeats of the process. */
  readonly steps: Int32Array
  /** The problem to print, in UTF-8, ended by a zero. */
  readonly text: Uint8Array
  /** ms without a step. */
  readonly limit: number
}
const STDERR = 2

const watch = ({ steps, text, limit }: GuardState): void => {
  let lastStep = Atomics.load(steps, 0)
  let lastAt = performance.now()
  setInterval(() => {
    const step = Atomics.load(steps, 0)
    const now = performance.now()
    if (step !== lastStep) lastAt = now
    lastStep = step
    if (now - lastAt < limit) return
    writeSync(STDERR, text.slice(0, text.indexOf(0)))
    process.kill(process.pid, 'SIGKILL')
  }, 250)
}
watch(workerData)
