/** The reads of a process: one thread, started by the first read and replaced if it ends. */
import { Worker } from 'node:worker_threads'
import type { Row, Sql, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'

interface PendingRead {
  readonly name: string
  readonly result: PromiseWithResolvers<readonly Row[]>
}
type ReadResult = { readonly id: number; readonly rows?: readonly Row[]; readonly error?: string }

export class Reads {
  readonly #file: string
  readonly #pending = new Map<number, PendingRead>()
  #thread: Worker | undefined
  #last = 0
  #closed = false

  constructor(file: string) {
    this.#file = file
  }
  read({ name, text }: Sql, values: readonly Value[]): Promise<readonly Row[]> {
    if (this.#closed) return Promise.reject(fault('STORE_UNAVAILABLE'))
    const result = Promise.withResolvers<readonly Row[]>()
    const id = ++this.#last
    this.#pending.set(id, { name, result })
    this.#thread ??= this.#start()
    this.#thread.postMessage({ id, text, values })
    return result.promise
  }
  async close(): Promise<void> {
    this.#closed = true
    // The idle thread is unreferenced, but its end must be awaited.
    this.#thread?.ref()
    await this.#thread?.terminate()
  }
  #start(): Worker {
    const thread = new Worker(new URL('./reader.ts', import.meta.url), { workerData: this.#file })
    thread.unref()
    thread.on('message', (result: ReadResult) => this.#onResult(result))
    thread.on('error', error => this.#onExit(error))
    thread.on('exit', () => this.#onExit(undefined))
    return thread
  }
  #onResult({ id, rows, error }: ReadResult): void {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (rows) pending?.result.resolve(rows)
    else pending?.result.reject(fault('STORE_STATEMENT', [pending.name, error]))
  }
  #onExit(cause: unknown): void {
    this.#thread = undefined
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { result } of pending) result.reject(fault('STORE_UNAVAILABLE', [], { cause }))
  }
}
