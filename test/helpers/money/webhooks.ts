/** Notifications over a real store and real receivers: an outbox that the test empties, with a
 *  clock that it sets. */
import type { Test } from 'tap'
import type { HostBase, Metrics, Row, Sql } from '../../../engine/plugin.ts'
import { migrations as accountTables } from '../../../plugins/credentials/tables.ts'
import { moveCrossings } from '../../../plugins/notify/crossings.ts'
import notify from '../../../plugins/notify/index.ts'
import { type Change, saveSettings } from '../../../plugins/notify/settings.ts'
import { emptyOutbox, type OutboxOptions } from '../../../plugins/webhooks/outbox.ts'
import { enqueue, openEndpoint } from '../../../plugins/webhooks/statements.ts'
import { eventually } from '../eventually.ts'
import { scaled } from '../machine-speed.ts'
import type { Engine } from '../store/store.ts'
import { type Books, openBooks } from './ledger.ts'
import { publicAccess, trustReceivers } from './receiver.ts'

export const SECRET = `whsec_${Buffer.alloc(32, 'secret').toString('base64')}`

export interface NotificationDesk extends Books {
  /** Milliseconds by which the store's clock is ahead. */
  ahead: number
  /** Every line of the log, as JSON. */
  readonly lines: string[]
  /** Every count of a metric, `name outcome`. */
  readonly counts: string[]
  readonly random: { value: number }
  /** The section `mail:`. */
  mail: object
  endpoint(id: number, url: string): Promise<void>
  event(id: string, endpoint: number, more?: { attempts?: number; body?: string }): Promise<void>
  save(account: number, change: Change): Promise<string | undefined>
  move(): Promise<number>
  /** Empties the outbox until the test ends, or until the returned function is called. */
  start(over?: Partial<Pick<OutboxOptions, 'send' | 'queue'>>): () => Promise<void>
  /** Resolves to the event when it fits. */
  eventually(id: string, fits: (row: Row) => boolean): Promise<Row>
  attempts(id: string): Promise<readonly Row[]>
}

const ALLOW = '127.0.0.0/8'
const sql = (text: string): Sql => ({ name: `test: ${text}`, text })

export const openDesk = async (t: Test, engine: Engine = 'sqlite'): Promise<NotificationDesk> => {
  trustReceivers()
  const books = await openBooks(t, engine)
  await books.database.migrate('auth', accountTables)
  await books.database.migrate('notify', notify.migrations)
  const [lines, counts]: [string[], string[]] = [[], []]
  const write = (fields: object, text?: string): void =>
    void lines.push(JSON.stringify({ ...fields, text }))
  const log = { debug: write, info: write, warn: write, error: write }
  const metrics: Metrics = {
    count: (name, labels) => void counts.push([name, ...Object.values(labels)].join(' ')),
    time() {},
    gauge() {},
  }
  const stops: (() => Promise<void>)[] = []
  t.teardown(() => Promise.all(stops.map(stop => stop())))
  const { read, write: commit } = books.database
  const storeWithClock = { read, write: commit, now: async () => Date.now() + desk.ahead }
  const row = async (id: string): Promise<Row | undefined> =>
    (await books.database.read(sql('SELECT * FROM webhook_events WHERE id = ?'), [id]))[0]
  const desk: NotificationDesk = {
    ...books,
    ahead: 0,
    lines,
    counts,
    random: { value: 0.5 },
    endpoint: async (id, url) => void (await commit([openEndpoint(id, url, SECRET)])),
    async event(id, endpoint, { attempts = 10, body = `{"id":"${id}"}` } = {}) {
      await commit([enqueue({ id, endpoint, body, attempts, now: await storeWithClock.now() })])
    },
    mail: {},
    save(account, change) {
      const section = <T>() => desk.mail as T
      return saveSettings(storeWithClock, account, change, { ...publicAccess(ALLOW), section })
    },
    move: () => moveCrossings(storeWithClock),
    start(over = {}) {
      const stop = new AbortController()
      const random = () => desk.random.value
      const refill = async () => void (await desk.move())
      const outside = { ...publicAccess(ALLOW), ...over }
      const host = {
        ...outside,
        send: ((upstream, { timeout = 0, ...outgoing }) =>
          outside.send(upstream, { ...outgoing, timeout: scaled(timeout) })) as HostBase['send'],
        log,
        metrics,
        database: storeWithClock,
        random,
        refill,
        every: 20,
      }
      const over_ = emptyOutbox(host, stop.signal)
      const end = async () => {
        stop.abort()
        await over_
      }
      stops.push(end)
      return end
    },
    async eventually(id, fits) {
      let event: Row | undefined
      const look = async () => {
        event = await row(id)
        return event && fits(event) && event
      }
      return eventually(look, { failure: () => `it never came: ${JSON.stringify(event)}` })
    },
    attempts: id =>
      books.database.read(sql('SELECT * FROM webhook_attempts WHERE event = ? ORDER BY number'), [
        id,
      ]),
  }
  return desk
}
