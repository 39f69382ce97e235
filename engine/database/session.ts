/** One client's connection at the writer: what it says becomes lists, what came of them goes back. */
import type { Socket } from 'node:net'
import { createFrames, frame, type Heard, type Said, type WireAnswer } from './frames.ts'
import type { Outcome } from './group.ts'
import { type MigrationError, migrate } from './migrate.ts'
import { type Queue, spell, toStep } from './queue.ts'
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
      const steps = statements.map(statement => toStep(spell(texts, statement)))
      queue.add({ client: name, number, again: again === 1, steps }, outcome =>
        answer(number, outcome),
      )
    }
    for (const [will, ...statements] of said.wills ?? []) {
      queue.will(
        name,
        will,
        statements.map(statement => spell(texts, statement)),
      )
    }
    if (said.forget) queue.forget(name, said.forget)
    if (said.migrate) say({ migrated: runMigrations(store, queue, said.migrate) })
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

const runMigrations = (
  store: Sqlite,
  queue: Queue,
  [number, owner, migrations]: NonNullable<Said['migrate']>,
): NonNullable<Heard['migrated']> => {
  // What was said before it must be applied before it.
  queue.flush()
  try {
    migrate(store, owner, migrations, Date.now())
    return [number]
  } catch (error) {
    return [number, [(error as MigrationError).number ?? 0, (error as Error).message]]
  }
}

const toWireAnswer = (number: number, outcome: Outcome): WireAnswer => {
  if ('refused' in outcome) return [number, null, outcome.refused]
  const any = outcome.rows.some(rows => rows.length > 0)
  return any ? [number, outcome.rows.map(rows => rows.map(rowToWire))] : [number]
}
