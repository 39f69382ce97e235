/** Changes of an account's rows as server-sent events. One read per second and account serves all
 *  streams of a process; without streams nothing is read. */
import type { Exchange, Host, HostBase, Row, Sql } from '../../engine/plugin.ts'
import { ACCOUNT, type Account } from '../slots.ts'

/** ms between two reads, between two comments that keep the connection open, and until a stream
 *  ends: the client connects again, and its credential is checked again. */
const [INTERVAL, PING, LIFE] = [1_000, 15_000, 300_000]
/** Rows that are watched: the newest ones. */
const NEWEST = 200
const COMMENT = Buffer.from(':\n\n')

type Listener = (changed: readonly Row[]) => void
interface Watch {
  readonly listeners: Set<Listener>
  /** By id, the row as text. */
  rows: ReadonlyMap<string, string>
  timer?: NodeJS.Timeout
}

/** The rows that one process watches: the newest of `sql` for each account with an open stream. */
class Watches {
  readonly #byAccount = new Map<number, Watch>()
  readonly #host: Pick<HostBase, 'database' | 'log'>
  readonly #sql: Sql

  constructor(host: Pick<HostBase, 'database' | 'log'>, sql: Sql) {
    this.#host = host
    this.#sql = sql
  }
  /** Returns a function that ends the watch of this listener. */
  async add(account: number, listener: Listener): Promise<() => void> {
    let watch = this.#byAccount.get(account)
    if (!watch) {
      watch = { listeners: new Set(), rows: new Map() }
      this.#byAccount.set(account, watch)
    }
    watch.listeners.add(listener)
    if (watch.listeners.size === 1) await this.#look(account, watch)
    return () => {
      watch.listeners.delete(listener)
      if (watch.listeners.size > 0) return
      clearTimeout(watch.timer)
      if (this.#byAccount.get(account) === watch) this.#byAccount.delete(account)
    }
  }
  /** Reads, reports what has changed, and looks again later. A failed read is repeated. */
  async #look(account: number, watch: Watch): Promise<void> {
    try {
      const list = await this.#host.database.read(this.#sql, [account, NEWEST])
      const rows = new Map(list.map(row => [String(row.id), textOf(row)]))
      const changed = list.filter(row => watch.rows.get(String(row.id)) !== textOf(row))
      const isFirst = watch.timer === undefined
      watch.rows = rows
      if (changed.length > 0 && !isFirst) for (const each of watch.listeners) each(changed)
    } catch (error) {
      this.#host.log.debug({ account, error }, 'the changes of an account could not be read')
    }
    if (watch.listeners.size === 0) return
    watch.timer = setTimeout(() => void this.#look(account, watch), INTERVAL)
  }
}
const textOf = (row: Row): string => Object.values(row).map(String).join('\t')

/** A handler that streams the changed rows of the calling account, such as
 *  `data: { "at": 1767225600000, "rows": [{ "id": "…", "state": "running" }] }`. The first event
 *  has no rows: from then on changes are reported. `sql`: its parameters are the account and the
 *  number of rows, newest first; each row has an `id`. `isSeen`: whether the caller
 *  sees a row. `rowOf` makes the public form of a row. */
export const accountEvents = (
  host: Host,
  sql: Sql,
  rowOf: (row: Row) => { readonly id: string; readonly [name: string]: string | number },
  isSeen: (row: Row, account: Account) => boolean = () => true,
): ((exchange: Exchange) => Promise<void>) => {
  const watches = host.share(`account-events/${sql.name}`, '1', () => new Watches(host, sql))
  return async exchange => {
    const account = exchange.slots.need(ACCOUNT)
    const queue: string[] = [eventOf([])]
    let wake = () => {}
    const push = (text: string) => {
      queue.push(text)
      wake()
    }
    const remove = await watches.add(account.id, changed => {
      const rows = changed.filter(row => isSeen(row, account))
      if (rows.length > 0) push(eventOf(rows.map(rowOf)))
    })
    const { leaving } = host.membership
    const ping = setInterval(() => push(COMMENT.toString()), PING)
    const end = AbortSignal.any([exchange.signal, leaving, AbortSignal.timeout(LIFE)])
    const onEnd = () => wake()
    end.addEventListener('abort', onEnd)
    exchange.onEnd(() => {
      remove()
      clearInterval(ping)
      end.removeEventListener('abort', onEnd)
      wake()
    })
    async function* events(): AsyncGenerator<Uint8Array> {
      while (!end.aborted) {
        const text = queue.splice(0).join('')
        if (text !== '') {
          yield Buffer.from(text)
          // The engine holds the last chunk back, since it may be the tail: not the event.
          yield COMMENT
        } else
          await new Promise<void>(resolve => {
            wake = resolve
          })
      }
    }
    exchange.hangup = 'cancel'
    exchange.answer(200, events(), {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
  }
}
const eventOf = (rows: readonly object[]): string =>
  `data: ${JSON.stringify({ at: Date.now(), rows })}\n\n`
