/** One connection to PostgreSQL: set up so that what it acknowledges is on the disk. Knows flights; knows nothing of lists. */
import { Socket } from 'node:net'
import pg from 'pg'
import type { Row, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { columns } from './columns.ts'

export interface Told {
  readonly text: string
  /** Prepared under this name, once per connection. */
  readonly name?: string | undefined
  readonly values?: readonly Value[] | readonly unknown[]
}
export type Heard =
  | { readonly rows: readonly Row[]; readonly count: number; readonly command: string }
  | { readonly error: pg.DatabaseError }
export interface SessionOptions {
  readonly url: string
  /** ms until it must be connected. */
  readonly within: number
  /** Of the server, for this session. */
  readonly settings?: Readonly<Record<string, string | number>>
}
const OLDEST = 130_000
const SETTINGS = {
  synchronous_commit: 'on',
  default_transaction_isolation: 'read\\ committed',
  // A machine that vanished is noticed within 15 s, and its locks are free.
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 2,
}
const ASK = `SELECT current_setting('fsync') AS fsync, pg_is_in_recovery() AS standby,
  current_setting('server_version_num') AS version, current_setting('server_version') AS shown`

export class Session {
  readonly #client: pg.Client
  readonly #socket: Socket
  #lost: Error | undefined
  /** Called once, when the connection is gone. */
  onLost = (): void => {}

  private constructor(client: pg.Client, socket: Socket) {
    this.#client = client
    this.#socket = socket
    client.on('error', error => this.#lose(error))
    client.on('end', () => this.#lose(new Error('the connection was closed')))
  }
  static async open({ url, within, settings = {} }: SessionOptions): Promise<Session> {
    const socket = new Socket()
    const client = new pg.Client({
      ...addressOf(url, { ...SETTINGS, ...settings }),
      ...{ types: columns, pipeline: true, connectionTimeoutMillis: within, keepAlive: true },
      stream: () => socket,
    })
    const session = new Session(client, socket)
    try {
      await client.connect()
      const [heard] = await session.flight([{ text: ASK }], within)
      refuseUnsafe(heard)
      return session
    } catch (error) {
      session.drop()
      throw error
    }
  }
  get lost(): boolean {
    return this.#lost !== undefined
  }
  /** Sends all at once and waits for every answer. Rejects if the connection breaks, and breaks it if it is late. */
  flight(steps: readonly Told[], within: number): Promise<readonly Heard[]> {
    if (this.#lost) return Promise.reject(this.#lost)
    const { promise, resolve, reject } = Promise.withResolvers<readonly Heard[]>()
    const heard: Heard[] = []
    const late = Number.isFinite(within)
      ? setTimeout(() => this.#lose(new Error(`no answer in ${within} ms`)), within)
      : undefined
    const take = (error: Error | null, result: pg.QueryResult): void => {
      if (error && !isServers(error)) {
        clearTimeout(late)
        return reject(this.#lost ?? error)
      }
      heard.push(error ? { error: error as pg.DatabaseError } : heardOf(result))
      if (heard.length < steps.length) return
      clearTimeout(late)
      resolve(heard)
    }
    // One packet for all of it.
    this.#socket.cork()
    for (const step of steps)
      this.#client.query({ ...step, values: step.values ?? [] } as never, take)
    process.nextTick(() => this.#socket.uncork())
    return promise
  }
  /** Whether a transaction is open. */
  get open(): boolean {
    return this.#client.getTransactionStatus() === 'T'
  }
  /** Several statements in one text, as migrations have them. */
  async script(text: string): Promise<void> {
    await this.#client.query(text)
  }
  drop(): void {
    this.#lose(new Error('the connection was given up'))
  }
  /** Takes leave; at once if the server does not answer. */
  async end(within = 250): Promise<void> {
    this.onLost = () => {}
    const late = setTimeout(() => this.drop(), within)
    await this.#client.end()
    clearTimeout(late)
  }
  #lose(error: Error): void {
    if (this.#lost) return
    this.#lost = error
    this.#socket.destroy()
    this.onLost()
  }
}

const isServers = (error: Error): boolean => 'severity' in error && error.severity !== 'FATAL'

const heardOf = (result: pg.QueryResult): Heard => ({
  rows: result.rows,
  count: result.rowCount ?? 0,
  command: result.command,
})

const refuseUnsafe = (heard: Heard | undefined): void => {
  const [row] = heard && 'rows' in heard ? heard.rows : []
  if (row?.standby === 1) throw fault('STORE_READ_ONLY')
  if (row?.fsync !== 'on') throw fault('STORE_FSYNC', [row?.fsync])
  if (Number(row.version) < OLDEST) throw fault('STORE_POSTGRES_OLD', [row.shown])
}

/** `postgres://user@/name?host=/folder` has no host, which makes it no URL for the rest of the world. */
export const parsed = (url: string): URL | null =>
  URL.parse(url) ?? URL.parse(url.replace('@/', '@localhost/'))

/** The url's own `options` stay, behind ours. */
const addressOf = (url: string, settings: Readonly<Record<string, string | number>>) => {
  const address = parsed(url) ?? new URL(url)
  const own = address.searchParams.get('options') ?? ''
  address.searchParams.delete('options')
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  return {
    connectionString: address.href,
    options: [...ours, own].join(' ').trim(),
    fallback_application_name: 'tollgate',
  }
}
