/** Sends single attempts to an address, without routes or stages, and records the bodies of their
 *  replies. */
import type { Test } from 'tap'
import type { Fault } from '../../engine/plugin.ts'
import type { FilteredReply } from '../../engine/response/filters.ts'
import { Origin } from '../../engine/upstream/origin.ts'
import { type Sending, send } from '../../engine/upstream/transport.ts'

export const CLIENT_GONE: Fault = { code: 'GONE', message: 'gone', status: 499, expose: true }
export const HEALTH = { failures: 2, eject: 60_000 }
export const LONG_DEADLINES = { connect: 10_000, first_byte: 60_000, idle: 60_000 }

/** Opens an origin at this address; returns it with a function that sends to it. */
export const openOrigin = (t: Test, address: string, connections = 2) => {
  const origin = new Origin(address, { connect: 10_000, connections })
  t.teardown(() => origin.pool?.destroy())
  const sending: Sending = {
    origin,
    upstream: 'up',
    method: 'GET',
    path: '/',
    headers: {},
    body: undefined,
    deadlines: LONG_DEADLINES,
    health: HEALTH,
    idempotent: true,
  }
  const ask = (more: Partial<Sending> = {}, aborter = (_: (reason: Fault) => void): void => {}) =>
    new Promise<FilteredReply>((resolve, reject) =>
      send(
        { ...sending, ...more },
        { awaitAttempt: attempt => aborter(reason => attempt.abort(reason)) },
        resolve,
        reject,
      ),
    )
  return { origin, ask }
}
export const readText = async (answer: FilteredReply): Promise<string> =>
  Buffer.from(await answer.bytes(1_000_000)).toString()
/** Records what a reply's body does, in order. */
export const recordBody = (
  answer: FilteredReply,
): { readonly log: string[]; readonly over: Promise<void> } => {
  const log: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const note = (line: string): void => void log.push(line)
  answer.pipeTo({
    write: chunk => note(Buffer.from(chunk).toString()),
    end(tail) {
      note(`end ${tail ? Buffer.from(tail).toString() : ''}`)
      resolve()
    },
    fail(reason) {
      note(`fail ${reason.code}`)
      resolve()
    },
  })
  return { log, over: promise }
}
