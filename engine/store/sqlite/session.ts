/** One client's connection at the writer: what it says becomes lists, what came of them goes back. */
import type { Socket } from 'node:net'
import type { Migration, Value } from '../../plugin.ts'
import { fromWire, rowToWire, type Wire } from '../values.ts'
import {
  AGAIN,
  createFrames,
  frame,
  type Heard,
  ONCE,
  type Said,
  type WireAnswer,
  type WireStatement,
} from './frames.ts'
import type { List, Outcome } from './group-commit.ts'
import { migrate } from './migrate.ts'
import type { Queue } from './queue.ts'
import type { Sqlite } from './sqlite.ts'

export interface Attendance {
  arrived(client: string): void
  /** `client`: unless it left before it said hello. */
  gone(client: string | undefined, bye: boolean): void
}

export const attend = (
  socket: Socket,
  store: Sqlite,
  queue: Queue,
  attendance: Attendance,
): void => {
  const texts: Text[] = []
  let client: string | undefined
  let bye = false
  let answers: WireAnswer[] = []
  let done: number[] = []

  const say = (message: Heard): void => {
    if (socket.writable) socket.write(frame(message))
  }
  const send = (): void => {
    say({ ...(done.length > 0 && { done }), ...(answers.length > 0 && { answers }) })
    answers = []
    done = []
  }
  const answer = (number: number, outcome: Outcome): void => {
    // All that one commit decided leaves in one frame.
    if (answers.length + done.length === 0) queueMicrotask(send)
    if ('rows' in outcome && outcome.rows.every(rows => rows.length === 0)) done.push(number)
    else answers.push(toWireAnswer(number, outcome))
  }
  const run = (name: string, said: Said): void => {
    for (const [number, text, sums] of said.texts ?? []) texts[number] = { text, sums }
    for (const [number, marks, ...statements] of said.lists ?? []) {
      const steps = statements.map(statement => stepOf(statement, texts))
      const [again, once] = [(marks & AGAIN) > 0, (marks & ONCE) > 0]
      const list = { client: name, number, again, once, steps }
      queue.add(list, outcome => answer(number, outcome))
    }
    for (const [number, ...migrations] of said.migrations ?? []) {
      // What was said before it must be applied before it.
      queue.flush()
      answer(number, runMigrations(store, ...migrations))
    }
    for (const [will, ...statements] of said.wills ?? []) queue.will(name, will, statements)
    if (said.forget) queue.forget(name, said.forget)
    if (said.bye) bye = true
  }
  const take = createFrames<Said>(said => {
    if (said.hello !== undefined) {
      client = said.hello
      attendance.arrived(client)
      // It says its wills anew; one that it withdrew while the writer was away must not live on.
      queue.withdraw(client)
      say({ welcome: true })
    }
    if (client !== undefined) run(client, said)
  })
  socket.on('data', (chunk: Buffer) => {
    try {
      take(chunk)
    } catch {
      // Not a client of ours.
      socket.destroy()
    }
  })
  // A client that was killed: 'close' follows, which is where its wills are read.
  socket.on('error', () => {})
  socket.on('close', () => attendance.gone(client, bye))
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

const toWireAnswer = (number: number, outcome: Outcome): WireAnswer => {
  if ('refused' in outcome) return [number, null, outcome.refused]
  return [number, outcome.rows.map(rows => rows.map(rowToWire))]
}
