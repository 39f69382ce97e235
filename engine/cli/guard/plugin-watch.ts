/** A thread that kills the process when loading its plugins makes no progress: the main thread runs
 *  no timer while a plugin blocks it. */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

export interface GuardState {
  /** Counts steps and heartbeats of the process. */
  readonly steps: Int32Array
  /** The problem to print: UTF-8 that ends with a zero byte. */
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
