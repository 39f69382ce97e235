/** Records actions: each row is written in the transaction of what it records. */
import { setTimeout as pause } from 'node:timers/promises'
import { errors } from '../../engine/errors.ts'
import { isCode } from '../../engine/kit.ts'
import type { HostBase, Row, Statement } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { type Action, nextRow } from './action.ts'
import { signingKey } from './keys.ts'
import { addAction, readHead } from './statements.ts'

const fault = errors({
  ACTION_HEAD: [
    409,
    'The log of actions has no head, so nothing can be changed: `tollgate actions verify` shows what is missing',
  ],
})
/** ms. Another process added a row between the read and the write: one of them always goes on. */
const LONGEST_PAUSE = 20
const MOST_ATTEMPTS = 1_000

type Host = Pick<HostBase, 'database' | 'section' | 'folder' | 'share'>

/** Writes the statements and the row of the action in one transaction. Resolves to the rows of the
 *  statements. Rejects as `writeWithRetry`. */
export const recordAction = (
  host: Host,
  list: readonly Statement[],
  action: Action,
): Promise<readonly (readonly Row[])[]> => {
  // The actions of a process wait for each other: each needs the signature of the one before.
  const queue = host.share<{ last: Promise<unknown> }>('action-log/queue', '1', () => ({
    last: Promise.resolve(),
  }))
  const result = queue.last.then(() => append(host, list, action))
  queue.last = result.catch(() => {})
  return result
}

const append = async (host: Host, list: readonly Statement[], action: Action) => {
  const { database } = host
  const key = signingKey(host)
  for (let attempts = 1; ; attempts++) {
    const head = await readHead(database)
    if (!head) throw fault('ACTION_HEAD')
    const row = nextRow(head, action, key, await database.now())
    try {
      const rows = await writeWithRetry(database, [...list, ...addAction(head, row)])
      return rows.slice(0, list.length)
    } catch (error) {
      if (!isCode(error, 'ACTION_MOVED') || attempts === MOST_ATTEMPTS) throw error
    }
    await pause(Math.random() * LONGEST_PAUSE)
  }
}
