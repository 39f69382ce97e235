/** One connection to PostgreSQL with verified durability settings. It sends pipelined batches of
 *  queries and has no notion of lists. */
import { Socket } from 'node:net'
import pg from 'pg'
import { isCode } from '../../kit.ts'
import type { Row, Value } from '../../plugin.ts'
import { fault } from '../faults.ts'
import { columns } from './columns.ts'
import { type NewestTimeline, pickServer, serversOf } from './servers.ts'

export interface Query {
  readonly text: string
  /** Prepared under this name, once per connection. */
  readonly name?: string | undefined
  readonly values?: readonly Value[] | readonly unknown[]
}
export type QueryResult =
  | { readonly rows: readonly Row[]; readonly count: number; readonly command: string }
  | { readonly error: pg.DatabaseError }
export interface SessionOptions {
  readonly url: string
  /** Longest connect, ms. */
  readonly within: number
  /** Server settings for this session. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Shared by the connections of a process. */
  readonly newest?: NewestTimeline
}
const OLDEST = 130_000
const SETTINGS = {
  synchronous_commit: 'on',
  default_transaction_isolation: 'read committed',
  // The server detects a lost machine within 15 s and releases its locks.
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 2,
}
/** The `options` of a URL may set these otherwise. Statements take milliseconds: a compiler that is
 *  started for the estimated cost of a plan takes longer than the statement. */
const DEFAULTS = { jit: 'off' }
const SERVER_SETTINGS = `SELECT current_setting('fsync') AS fsync, pg_is_in_recovery() AS standby,
  current_setting('server_version_num') AS version, current_setting('server_version') AS shown`
/** A promotion starts a new timeline. Asked only of several servers: some services for PostgreSQL
 *  do not have these functions. */
const TIMELINE = `CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`

export class Session {
  readonly #client: pg.Client
  readonly #socket: Socket
  #lossError: Error | undefined
  /** Of the server, if its URL names several; later ones are greater. */
  timeline = ''
  /** Called once, when the connection is lost. */
  onLost = (): void => {}

  private constructor(client: pg.Client, socket: Socket) {
    this.#client = client
    this.#socket = socket
    client.on('error', error => this.#drop(error))
    client.on('end', () => this.#drop(new Error('the connection was closed')))
  }
  /** Connects to the server that accepts writes, of those that the URL names. */
  static open(options: SessionOptions): Promise<Session> {
    const servers = serversOf(options.url)
    if (servers.length === 1) return Session.#connect(options, SERVER_SETTINGS)
    const text = `${SERVER_SETTINGS}, ${TIMELINE}`
    const attempts = servers.map(url => Session.#connect({ ...options, url }, text))
    return pickServer(attempts, options.newest)
  }
  static async #connect(options: SessionOptions, text: string): Promise<Session> {
    const address = readAddress(options.url)
    if (!address.isForStart)
      try {
        return await Session.#connectTo(address.plain, address.own, options, text)
      } catch (error) {
        if (!isCode(error, ONLY_AT_START)) throw error
      }
    const names = Object.keys(address.own)
    const session = await Session.#connectTo(address.whole, {}, options, text).catch(error => {
      throw isCode(error, REFUSED) ? fault('STORE_OPTIONS', [names.join(', ')]) : error
    })
    const missing = await missingSettings(session, names, options.within)
    if (missing.length === 0) return session
    session.drop()
    throw fault('STORE_OPTIONS', [missing.join(', ')])
  }
  static async #connectTo(
    connectionString: string,
    own: Readonly<Record<string, string>>,
    { within, settings = {} }: SessionOptions,
    text: string,
  ): Promise<Session> {
    const socket = new Socket()
    const client = new pg.Client({
      connectionString,
      fallback_application_name: 'tollgate',
      types: columns,
      pipeline: true,
      connectionTimeoutMillis: within,
      keepAlive: true,
      stream: () => socket,
    })
    const session = new Session(client, socket)
    try {
      await client.connect()
      const setUp = setText({ ...DEFAULTS, ...own, ...SETTINGS, ...settings })
      const [applied, result] = await session.pipeline([{ text: setUp }, { text }], within)
      if (applied && 'error' in applied) throw applied.error
      session.timeline = assertDurable(result)
      return session
    } catch (error) {
      session.drop()
      throw error
    }
  }
  get isLost(): boolean {
    return this.#lossError !== undefined
  }
  /** Sends all queries in one batch and resolves to their results. Rejects if the connection is
   *  lost, and drops the connection after `within` ms. */
  pipeline(steps: readonly Query[], within: number): Promise<readonly QueryResult[]> {
    if (this.#lossError) return Promise.reject(this.#lossError)
    const { promise, resolve, reject } = Promise.withResolvers<readonly QueryResult[]>()
    const results: QueryResult[] = []
    const timer = Number.isFinite(within)
      ? setTimeout(() => this.#drop(new Error(`no response in ${within} ms`)), within)
      : undefined
    const onResult = (error: Error | null, result: pg.QueryResult): void => {
      if (error && !isServerError(error)) {
        clearTimeout(timer)
        return reject(this.#lossError ?? error)
      }
      results.push(error ? { error: error as pg.DatabaseError } : toQueryResult(result))
      if (results.length < steps.length) return
      clearTimeout(timer)
      resolve(results)
    }
    // One packet for the whole batch.
    this.#socket.cork()
    for (const step of steps)
      this.#client.query({ ...step, values: step.values ?? [] } as never, onResult)
    process.nextTick(() => this.#socket.uncork())
    return promise
  }
  /** Whether a transaction is open. */
  get isInTransaction(): boolean {
    return this.#client.getTransactionStatus() === 'T'
  }
  /** Runs a text with several statements, such as a migration. */
  async script(text: string): Promise<void> {
    await this.#client.query(text)
  }
  drop(): void {
    this.#drop(new Error('the connection was given up'))
  }
  /** Disconnects; drops the connection if the server does not respond within `within` ms. */
  async end(within = 250): Promise<void> {
    this.onLost = () => {}
    const timer = setTimeout(() => this.drop(), within)
    await this.#client.end()
    clearTimeout(timer)
  }
  #drop(error: Error): void {
    if (this.#lossError) return
    this.#lossError = error
    this.#socket.destroy()
    this.onLost()
  }
}

/** The settings for the start of a connection that a pooler did not pass on. */
const missingSettings = async (
  session: Session,
  names: readonly string[],
  within: number,
): Promise<readonly string[]> => {
  const [result] = await session.pipeline([{ text: NOT_OF_CLIENT, values: [names] }], within)
  return result && 'rows' in result ? result.rows.map(({ name }) => String(name)) : names
}

/** Whether the server let the client wait for too long. */
export const isTimeout = (error: unknown): boolean =>
  /^(?:timeout expired|no response in )/.test((error as Error).message)

const isServerError = (error: Error): boolean => 'severity' in error && error.severity !== 'FATAL'

const toQueryResult = (result: pg.QueryResult): QueryResult => ({
  rows: result.rows,
  count: result.rowCount ?? 0,
  command: result.command,
})

/** Returns the timeline of the server. */
const assertDurable = (results: QueryResult | undefined): string => {
  const [row] = results && 'rows' in results ? results.rows : []
  if (row?.standby === 1) throw fault('STORE_READ_ONLY')
  if (row?.fsync !== 'on') throw fault('STORE_FSYNC', [row?.fsync])
  if (Number(row.version) < OLDEST) throw fault('STORE_POSTGRES_OLD', [row.shown])
  return String(row.timeline ?? '')
}

/** Parses a URL. `postgres://user@/name?host=/folder` has no host, which URL.parse rejects. */
export const parseUrl = (url: string): URL | null =>
  URL.parse(url) ?? URL.parse(url.replace('@/', '@localhost/'))

/** A statement, not the start parameter `options`: PgBouncer before 1.20 refuses that one, or drops
 *  it. */
const setText = (settings: Readonly<Record<string, string | number>>): string => {
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, false)`,
  )
  return `SELECT ${calls.join(', ')}`
}
const literal = (value: string | number): string => `'${String(value).replaceAll("'", "''")}'`

interface Address {
  /** The URL without the settings of its `options`, and with them. */
  readonly plain: string
  readonly whole: string
  readonly own: Readonly<Record<string, string>>
  /** Whether only the start of a connection can set them. */
  readonly isForStart: boolean
}
const readAddress = (url: string): Address => {
  const parsed = parseUrl(url) ?? new URL(url)
  const whole = parsed.href
  const own = settingsIn(parsed.searchParams.get('options') ?? '')
  if (own) parsed.searchParams.delete('options')
  const isForStart = Object.keys(own ?? {}).some(name => LOADED_AT_START.test(name))
  return { plain: parsed.href, whole, own: own ?? {}, isForStart }
}
/** PostgreSQL takes a later value of these without an error and without an effect. */
const LOADED_AT_START = /_preload_libraries$/
/** https://www.postgresql.org/docs/current/errcodes-appendix.html: cant_change_runtime_param. */
const ONLY_AT_START = '55P02'
/** protocol_violation: PgBouncer refuses a start parameter. */
const REFUSED = '08P01'
/** Of the others, a later value is of source `session`, and the server may not list it. */
const NOT_OF_CLIENT = `SELECT s.name FROM pg_settings s
  WHERE lower(s.name) IN (SELECT lower(own.name) FROM unnest($1::text[]) AS own (name))
    AND (s.context IN ('backend', 'superuser-backend') OR s.name ~ '_preload_libraries$')
    AND s.source <> 'client'`

/** Settings of `-c name=value --name=value`, with a backslash before a space of a value; undefined
 *  for options of another form, which only the server can read. */
const settingsIn = (options: string): Readonly<Record<string, string>> | undefined => {
  const pairs = [...options.matchAll(OPTION)]
  if (pairs.map(([whole]) => whole).join('') !== options.trimEnd()) return undefined
  const entries = pairs.map(([, name = '', value = '']) => [
    name.replaceAll('-', '_'),
    value.replace(/\\(.)/g, '$1'),
  ])
  return Object.fromEntries(entries)
}
const OPTION = /\s*(?:-c\s*|--)([\w.-]+)=((?:\\.|[^\s\\])*)/g
