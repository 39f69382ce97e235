/** Writes the pieces of requests one after another in each process: many large creates at once
 *  would otherwise fill the commits that calls wait for. */
import type { Database, Host, Statement } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'

export class PieceQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Resolves when the piece is durable. */
  write(database: Pick<Database, 'write'>, piece: Statement): Promise<unknown> {
    const write = this.#last.then(() => writeWithRetry(database, [piece]))
    this.#last = write.catch(() => {})
    return write
  }
}
/** That of this process. */
export const pieceQueueOf = (host: Pick<Host, 'share'>): PieceQueue =>
  host.share('request pieces', '1', () => new PieceQueue())
