/** A process's reads: one thread, started by the first of them, replaced should it die. */
import { Worker } from 'node:worker_threads'
import type { Row, Sql, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'

interface Reading {
  readonly name: string
  readonly done: PromiseWithResolvers<readonly Row[]>
}
type Found = { readonly id: number; readonly rows?: readonly Row[]; readonly error?: string }

export class Reads {
  readonly #file: string
  readonly #reading = new Map<number, Reading>()
  #thread: Worker | undefined
  #last = 0
  #closed = false

  constructor(file: string) {
    this.#file = file
  }
  read({ name, text }: Sql, values: readonly Value[]): Promise<readonly Row[]> {
    if (this.#closed) return Promise.reject(fault('STORE_UNAVAILABLE'))
    const done = Promise.withResolvers<readonly Row[]>()
    const id = ++this.#last
    this.#reading.set(id, { name, done })
    this.#thread ??= this.#start()
    this.#thread.postMessage({ id, text, values })
    return done.promise
  }
  async close(): Promise<void> {
    this.#closed = true
    // An idle thread does not hold the process, but its end is to be awaited.
    this.#thread?.ref()
    await this.#thread?.terminate()
  }
  #start(): Worker {
    const thread = new Worker(new URL('./reader.ts', import.meta.url), { workerData: this.#file })
    thread.unref()
    thread.on('message', (found: Found) => this.#answer(found))
    thread.on('error', error => this.#lost(error))
    thread.on('exit', () => this.#lost(undefined))
    return thread
  }
  #answer({ id, rows, error }: Found): void {
    const reading = this.#reading.get(id)
    this.#reading.delete(id)
    if (rows) reading?.done.resolve(rows)
    else reading?.done.reject(fault('STORE_STATEMENT', [reading.name, error]))
  }
  #lost(cause: unknown): void {
    this.#thread = undefined
    const lost = [...this.#reading.values()]
    this.#reading.clear()
    for (const { done } of lost) done.reject(fault('STORE_UNAVAILABLE', [], { cause }))
  }
}
