/** The writer's session with one client: turns messages into lists and sends back the outcomes. */
import type { Socket } from 'node:net'
import type { Migration } from '../../plugin.ts'
import { rowToWire } from '../values.ts'
import {
  AGAIN,
  type ClientMessage,
  createFrameParser,
  encodeMessage,
  ONCE,
  type WireResult,
  type WriterMessage,
} from './frames.ts'
import type { Outcome } from './group-commit.ts'
import { migrate } from './migrate.ts'
import type { OnMigration } from './migration-log.ts'
import type { Queue } from './queue.ts'
import type { Sqlite } from './sqlite.ts'
import { StatementDecoder } from './statement-decoder.ts'

export interface SessionListener {
  onHello(client: string): void
  readonly onMigration: OnMigration
  /** `client`: undefined if it disconnected before its `hello`. `bye`: it will not reconnect. */
  onClose(client: string | undefined, bye: boolean): void
}

export const serveClient = (
  socket: Socket,
  store: Sqlite,
  queue: Queue,
  listener: SessionListener,
): void => {
  const session = new ClientSession(socket, store, queue, listener)
  const parse = createFrameParser<ClientMessage>(message => session.onMessage(message))
  socket.on('data', (chunk: Buffer) => {
    try {
      parse(chunk)
    } catch {
      // Not a valid client.
      socket.destroy()
    }
  })
  // The client process was killed: the event 'close' follows.
  socket.on('error', () => {})
  socket.on('close', () => session.onClose())
}

class ClientSession {
  readonly #store: Sqlite
  readonly #queue: Queue
  readonly #listener: SessionListener
  readonly #results: ResultSender
  readonly #send: (message: WriterMessage) => void
  readonly #statements = new StatementDecoder()
  #client: string | undefined
  #isLeaving = false

  constructor(socket: Socket, store: Sqlite, queue: Queue, listener: SessionListener) {
    this.#store = store
    this.#queue = queue
    this.#listener = listener
    this.#send = message => {
      if (socket.writable) socket.write(encodeMessage(message))
    }
    this.#results = new ResultSender(this.#send)
  }
  onMessage(message: ClientMessage): void {
    if (message.hello !== undefined) this.#onHello(message.hello)
    if (this.#client !== undefined) this.#onClientMessage(this.#client, message)
  }
  onClose(): void {
    this.#listener.onClose(this.#client, this.#isLeaving)
  }

  #onHello(client: string): void {
    this.#client = client
    this.#listener.onHello(client)
    // The client sends its on-crash statements again; lists it cleared while the writer was down
    // must not remain.
    this.#queue.clearCrashStatements(client)
    this.#send({ welcome: true, changes: true })
  }
  #onClientMessage(client: string, message: ClientMessage): void {
    const { texts = [], lists = [], migrations = [], wills = [], forget, bye } = message
    for (const text of texts) this.#statements.addText(text)
    for (const [number, marks, ...statements] of lists) {
      const list = {
        client,
        number,
        isRepeat: (marks & AGAIN) > 0,
        once: (marks & ONCE) > 0,
        steps: statements.map(statement => this.#statements.decode(statement)),
      }
      this.#queue.add(list, outcome => this.#results.add(number, outcome))
    }
    for (const [number, ...migration] of migrations) {
      // Lists received before a migration must be applied before it.
      this.#queue.flush()
      this.#results.add(number, this.#migrate(...migration))
    }
    for (const [exchange, ...statements] of wills)
      this.#queue.setCrashStatements(client, exchange, statements)
    if (forget) this.#queue.forget(client, forget)
    if (bye) this.#isLeaving = true
  }
  #migrate(owner: string, migrations: readonly Migration[]): Outcome {
    try {
      migrate(this.#store, owner, migrations, Date.now(), this.#listener.onMigration)
      return { rows: [] }
    } catch (error) {
      return { refusal: { kind: 'migration', at: 0, message: (error as Error).message } }
    }
  }
}

/** Sends all outcomes of one commit in one frame. */
class ResultSender {
  readonly #send: (message: WriterMessage) => void
  /** Numbers of lists that were applied and returned no rows. */
  #withoutRows: number[] = []
  #results: WireResult[] = []

  constructor(send: (message: WriterMessage) => void) {
    this.#send = send
  }
  add(number: number, outcome: Outcome): void {
    if (this.#results.length + this.#withoutRows.length === 0) queueMicrotask(() => this.#flush())
    if ('rows' in outcome && outcome.rows.every(rows => rows.length === 0))
      this.#withoutRows.push(number)
    else this.#results.push(toWireResult(number, outcome))
  }
  #flush(): void {
    const [done, answers] = [this.#withoutRows, this.#results]
    this.#withoutRows = []
    this.#results = []
    this.#send({ ...(done.length > 0 && { done }), ...(answers.length > 0 && { answers }) })
  }
}

const toWireResult = (number: number, outcome: Outcome): WireResult => {
  if ('refusal' in outcome) return [number, null, outcome.refusal]
  return [number, outcome.rows.map(rows => rows.map(rowToWire))]
}
