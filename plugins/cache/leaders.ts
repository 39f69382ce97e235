/** Which request of all processes and machines leads for a key: a row in the store that its leader
 *  renews. A leader whose row does not change has stopped and is replaced. No clocks are compared:
 *  each process measures by its own clock how long a row did not change. */
import { randomUUID } from 'node:crypto'
import type { HostBase, Statement } from '../../engine/plugin.ts'
import { type Leader, leaderOf, leaderStatements, SEE_LEADER } from './leader-tables.ts'

export interface LeaderTimes {
  /** ms between two renewals, until a row that does not change is replaced, and between two
   *  looks. */
  readonly renew: number
  readonly stale: number
  readonly look: number
}
const TIMES: LeaderTimes = { renew: 2_000, stale: 8_000, look: 100 }

/** The leadership of one request. */
export interface Lease {
  /** Ends it in a list of the caller. Undefined: it has ended. */
  take(): Statement | undefined
  /** `unstorable`: others shall not wait for an answer. */
  end(how: 'unstorable' | 'failed'): void
}

export class Leaders {
  readonly times: LeaderTimes
  readonly #host: Pick<HostBase, 'database' | 'log'>
  readonly #owner = randomUUID()
  #count = 0
  constructor(host: Pick<HostBase, 'database' | 'log'>, times: LeaderTimes = TIMES) {
    this.#host = host
    this.times = times
  }
  /** Undefined: another request leads. */
  async take(key: string): Promise<Lease | undefined> {
    const owner = this.#name()
    const [rows = []] = await this.#host.database.write([
      leaderStatements.insert(key, owner, Date.now()),
    ])
    return rows.length > 0 ? this.#lease(key, owner) : undefined
  }
  async look(key: string): Promise<Leader | undefined> {
    const [row] = await this.#host.database.read(SEE_LEADER, [key])
    return row && leaderOf(row)
  }
  /** Undefined: it has moved on, or another request has replaced it. */
  async replace(key: string, dead: Leader): Promise<Lease | undefined> {
    const owner = this.#name()
    const [rows = []] = await this.#host.database.write([
      leaderStatements.replace(key, dead, owner, Date.now()),
    ])
    return rows.length > 0 ? this.#lease(key, owner) : undefined
  }
  #name(): string {
    return `${this.#owner}/${++this.#count}`
  }
  #lease(key: string, owner: string): Lease {
    const timer = setInterval(
      () => this.#write(leaderStatements.renew(key, owner, Date.now())),
      this.times.renew,
    ).unref()
    let isOpen = true
    const close = (): boolean => {
      clearInterval(timer)
      const wasOpen = isOpen
      isOpen = false
      return wasOpen
    }
    return {
      take: () => (close() ? leaderStatements.remove(key, owner) : undefined),
      end: how => {
        if (!close()) return
        this.#write(
          how === 'unstorable'
            ? leaderStatements.giveUp(key, owner, Date.now())
            : leaderStatements.remove(key, owner),
        )
      },
    }
  }
  #write(statement: Statement): void {
    this.#host.database
      .write([statement])
      .catch(error =>
        this.#host.log.warn({ error: (error as Error).message }, 'a leader of the cache was lost'),
      )
  }
}
