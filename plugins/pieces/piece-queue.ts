/** Writes the pieces of requests one after another in each process: many large creates at once
 *  would otherwise fill the commits that calls wait for. */
import type { Database, Host, Statement } from '../../engine/plugin.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { OneByOne } from './one-by-one.ts'

export class PieceQueue {
  readonly #writes = new OneByOne()

  /** Resolves when the piece is durable. */
  write(database: Pick<Database, 'write'>, piece: Statement): Promise<unknown> {
    return this.#writes.run(() => writeWithRetry(database, [piece]))
  }
}
/** That of this process. */
export const pieceQueueOf = (host: Pick<Host, 'share'>): PieceQueue =>
  host.share('request pieces', '1', () => new PieceQueue())
