/** Reader thread with a read-only connection, so that reads do not block an event loop. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Value } from '../../plugin.ts'
import { openForReading } from './sqlite.ts'

const store = openForReading(workerData)
parentPort?.on('message', ({ id, text, values }: { id: number; text: string; values: Value[] }) => {
  try {
    parentPort?.postMessage({ id, rows: store.run(text, values).rows })
  } catch (error) {
    parentPort?.postMessage({ id, error: (error as Error).message })
  }
})
