/** One client's connection at the writer: what it says becomes lists, what came of them goes back. */
import type { Socket } from 'node:net'
import type { Migration } from '../plugin.ts'
import { createFrames, frame, type Heard, type Said, type WireAnswer } from './frames.ts'
import type { Outcome } from './group.ts'
import { migrate } from './migrate.ts'
import { type Queue, toStep } from './queue.ts'
import type { Sqlite } from './sqlite.ts'
import { rowToWire } from './values.ts'

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
  const texts: string[] = []
  let client: string | undefined
  let bye = false
  let answers: WireAnswer[] = []

  const say = (message: Heard): void => {
    if (socket.writable) socket.write(frame(message))
  }
  const send = (): void => {
    say({ answers })
    answers = []
  }
  const answer = (number: number, outcome: Outcome): void => {
    // All that one commit decided leaves in one frame.
    if (answers.length === 0) queueMicrotask(send)
    answers.push(toWireAnswer(number, outcome))
  }
  const run = (name: string, said: Said): void => {
    for (const [number, text] of said.texts ?? []) texts[number] = text
    for (const [number, again, ...statements] of said.lists ?? []) {
      const steps = statements.map(([text, ...rest]) => toStep([texts[text] ?? '', ...rest]))
      const list = { client: name, number, again: again === 1, steps }
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
  const any = outcome.rows.some(rows => rows.length > 0)
  return any ? [number, outcome.rows.map(rows => rows.map(rowToWire))] : [number]
}
