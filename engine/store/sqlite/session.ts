/** The writer's session with one client: turns messages into lists and sends back the outcomes. */
import type { Socket } from 'node:net'
import type { Migration, Value } from '../../plugin.ts'
import { fromWire, rowToWire, type Wire } from '../values.ts'
import {
  AGAIN,
  type ClientMessage,
  createFrameParser,
  encodeMessage,
  ONCE,
  type WireResult,
  type WireStatement,
  type WriterMessage,
} from './frames.ts'
import type { List, Outcome } from './group-commit.ts'
import { migrate } from './migrate.ts'
import type { Queue } from './queue.ts'
import type { Sqlite } from './sqlite.ts'

export interface SessionListener {
  onHello(client: string): void
  /** `client`: undefined if it disconnected before its `hello`. */
  onClose(client: string | undefined, bye: boolean): void
}

export const serveClient = (
  socket: Socket,
  store: Sqlite,
  queue: Queue,
  listener: SessionListener,
): void => {
  const texts: Text[] = []
  let client: string | undefined
  let bye = false
  let results: WireResult[] = []
  let done: number[] = []

  const send = (message: WriterMessage): void => {
    if (socket.writable) socket.write(encodeMessage(message))
  }
  const flushResults = (): void => {
    send({ ...(done.length > 0 && { done }), ...(results.length > 0 && { answers: results }) })
    results = []
    done = []
  }
  const queueResult = (number: number, outcome: Outcome): void => {
    // All outcomes of one commit go in one frame.
    if (results.length + done.length === 0) queueMicrotask(flushResults)
    if ('rows' in outcome && outcome.rows.every(rows => rows.length === 0)) done.push(number)
    else results.push(toWireResult(number, outcome))
  }
  const handleMessage = (name: string, message: ClientMessage): void => {
    for (const [number, text, sums] of message.texts ?? []) texts[number] = { text, sums }
    for (const [number, marks, ...statements] of message.lists ?? []) {
      const steps = statements.map(statement => stepOf(statement, texts))
      const [isRepeat, once] = [(marks & AGAIN) > 0, (marks & ONCE) > 0]
      const list = { client: name, number, isRepeat, once, steps }
      queue.add(list, outcome => queueResult(number, outcome))
    }
    for (const [number, ...migrations] of message.migrations ?? []) {
      // Lists received before a migration must be applied before it.
      queue.flush()
      queueResult(number, runMigrations(store, ...migrations))
    }
    for (const [exchange, ...statements] of message.wills ?? [])
      queue.setCrashStatements(name, exchange, statements)
    if (message.forget) queue.forget(name, message.forget)
    if (message.bye) bye = true
  }
  const parse = createFrameParser<ClientMessage>(message => {
    if (message.hello !== undefined) {
      client = message.hello
      listener.onHello(client)
      // The client sends its on-crash statements again; lists it cleared while the writer was down
      // must not remain.
      queue.clearCrashStatements(client)
      send({ welcome: true })
    }
    if (client !== undefined) handleMessage(client, message)
  })
  socket.on('data', (chunk: Buffer) => {
    try {
      parse(chunk)
    } catch {
      // Not a valid client.
      socket.destroy()
    }
  })
  // A client that was killed; 'close' follows.
  socket.on('error', () => {})
  socket.on('close', () => listener.onClose(client, bye))
}

const UNKNOWN: Text = { text: '' }
type Text = Pick<List['steps'][number], 'text' | 'sums'>
const stepOf = (statement: WireStatement, texts: readonly Text[]): List['steps'][number] => {
  const values: Value[] = []
  for (let at = 2; at < statement.length; at++) values.push(fromWire(statement[at] as Wire))
  const { text, sums } = texts[statement[0]] ?? UNKNOWN
  return { text, sums, rows: statement[1], values }
}

const runMigrations = (store: Sqlite, owner: string, all: readonly Migration[]): Outcome => {
  try {
    migrate(store, owner, all, Date.now())
    return { rows: [] }
  } catch (error) {
    return { refused: { kind: 'migration', at: 0, message: (error as Error).message } }
  }
}

const toWireResult = (number: number, outcome: Outcome): WireResult => {
  if ('refused' in outcome) return [number, null, outcome.refused]
  return [number, outcome.rows.map(rows => rows.map(rowToWire))]
}
