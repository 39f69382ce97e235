/** Reaper: checks the heartbeats of the peers, applies the on-crash statements of dead processes
 *  and releases their reservations. A process that is only silent loses its leases. */
import type { Log, PeerListener, Row, Sql, Statement } from '../plugin.ts'
import { applyOnCrashStatements } from './on-crash-statements.ts'
import type { OpenDatabase } from './open-database.ts'
import type { Timeouts } from './timeouts.ts'

const sql = (name: string, text: string, postgres = text): Sql => ({
  name: `reaper: ${name}`,
  text,
  postgres,
})
/** `connected`: whether the process holds the advisory lock of its key; NULL with SQLite. */
const ALL_PEERS = sql(
  'all',
  'SELECT id, beat, client, folder, NULL AS connected FROM tollgate_processes ORDER BY id',
  `SELECT id, beat, client, folder, CASE WHEN client IS NULL THEN NULL WHEN client IN (
     SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
       AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
     THEN 1 ELSE 0 END AS connected FROM tollgate_processes ORDER BY id`,
)
// Reaping releases the reservations of the process; its on-crash statements decide how much of them
// is charged, so they are applied before. A process without a key may own any statements that an
// older program left.
const REAP = sql(
  'reap',
  `DELETE FROM tollgate_processes WHERE id = ? AND beat = ?
   AND NOT EXISTS (SELECT 1 FROM tollgate_wills w WHERE w.client = tollgate_processes.client OR
     (tollgate_processes.client IS NULL AND w.client IN
       (SELECT client FROM tollgate_processes WHERE id LIKE 'p_client_%')))`,
)
const SAME_BEAT = sql(
  'same beat',
  'UPDATE tollgate_processes SET beat = beat WHERE id = ? AND beat = ?',
)
/** Rejects with STILL_ALIVE if there was a heartbeat since. */
const sameBeat = ({ name, beat }: Pick<Peer, 'name' | 'beat'>): Statement => ({
  sql: SAME_BEAT,
  values: [name, beat],
  rows: 1,
  otherwise: STILL_ALIVE,
})
const EXPIRE = sql('expire leases', 'DELETE FROM tollgate_leases WHERE process = ? RETURNING name')
const REMOVE_ALL = sql('remove on-crash statements', 'DELETE FROM tollgate_wills WHERE client = ?')
const STILL_ALIVE = 'STILL_ALIVE'

export interface ReaperOptions {
  readonly database: Pick<OpenDatabase, 'read' | 'write' | 'process'>
  readonly log: Log
  readonly timeouts: Timeouts
  listeners(): readonly PeerListener[]
  isOwn(name: string): boolean
}
export interface Peer {
  readonly name: string
  readonly beat: number
  readonly key: string | undefined
  readonly folder: string | undefined
  readonly isConnected: boolean | undefined
}
/** Logged with the folder of the process before its calls are ended. */
export const CRASHED_ELSEWHERE =
  'a process of another gateway counts as dead: its calls are ended and charged by their last counts in the store'
/** Divisor of the check interval, and limit of such early checks, while a connection ends. */
const SOONER = 10

interface Observation {
  readonly beat: number
  /** Checks that found the same heartbeat again, and checks since the process was found dead. */
  readonly checks: number
  readonly deadChecks: number
}

/** Statements that reap a process without a heartbeat since `beat`. The write rejects with
 *  STILL_ALIVE if there was one, if on-crash statements remain, or if another process was faster.
 *  */
export const reapingList = (
  name: string,
  beat: number,
  listeners: readonly PeerListener[],
): readonly Statement[] => [
  { sql: REAP, values: [name, beat], rows: 1, otherwise: STILL_ALIVE },
  ...listeners.flatMap(each => each.reapStatements?.(name) ?? []),
]

/** Reaps a dead process: on-crash statements first, then its reservations. `here`: whether this
 *  machine can read its progress counts. */
export const reap = async (
  {
    database,
    log,
    listeners,
  }: Pick<ReaperOptions, 'database' | 'log'> & { readonly listeners: readonly PeerListener[] },
  { name, beat, key }: Pick<Peer, 'name' | 'beat' | 'key'>,
  here: boolean,
): Promise<void> => {
  const folder = here ? database.process?.folder : undefined
  if (key !== undefined) {
    // The debts of the process are exact; its on-crash statements may estimate the same.
    await folder?.writeOwedOf(key, { database, log })
    await applyOnCrashStatements({ database, log }, key, here)
  }
  for (const listener of listeners) await listener.beforeReap?.(name)
  await database.write(reapingList(name, beat, listeners))
}
/** Every registered process. */
export const readPeers = async (database: Pick<OpenDatabase, 'read'>): Promise<readonly Peer[]> =>
  (await database.read(ALL_PEERS, [])).map(parsePeer)

export class Reaper {
  readonly #options: ReaperOptions
  readonly #peerLostListeners = new Set<() => void>()
  #observations = new Map<string, Observation>()
  #timer: NodeJS.Timeout | undefined
  /** Keys of processes that were reaped since the last check. */
  readonly #reapedKeys = new Set<string>()
  #checking: Promise<void> | undefined
  /** Whether a check was requested during a running one. */
  #isCheckRequested = false
  /** Consecutive checks that found a dead process with an open connection. */
  #endingChecks = 0
  #isStarted = false

  constructor(options: ReaperOptions) {
    this.#options = options
  }
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.check()
  }
  stop(): void {
    this.#isStarted = false
    clearTimeout(this.#timer)
  }
  onPeerLost(listener: () => void): void {
    this.#peerLostListeners.add(listener)
  }
  check(): void {
    if (!this.#isStarted) return
    this.#isCheckRequested = this.#checking !== undefined
    this.#startCheck(true)
  }
  /** `isRequested`: on request, not by the timer; then it probes the socket of every peer and does
   *  not count silence. */
  #startCheck(isRequested: boolean): void {
    // The store is unavailable, or another process was faster: the next check tries again.
    this.#checking ??= this.#checkPeers(isRequested)
      .catch(error => this.#options.log.debug({ error }, 'the peers could not be checked'))
      .finally(() => {
        this.#checking = undefined
        clearTimeout(this.#timer)
        if (this.#isCheckRequested) return this.check()
        const { check } = this.#options.timeouts
        const soon = this.#endingChecks > 0 && this.#endingChecks <= SOONER
        const wait = soon ? check / SOONER : check
        if (this.#isStarted) this.#timer = setTimeout(() => this.#startCheck(soon), wait).unref()
      })
  }
  async #checkPeers(isRequested: boolean): Promise<void> {
    const { database, isOwn } = this.#options
    const peers = await readPeers(database)
    const previous = this.#observations
    this.#observations = new Map(
      peers.map(({ name, beat }) => {
        const last = previous.get(name)
        if (last?.beat !== beat) return [name, { beat, checks: 0, deadChecks: 0 }]
        return [name, isRequested ? last : { ...last, checks: last.checks + 1 }]
      }),
    )
    const endingChecks = this.#endingChecks
    await this.#removeLateStatements()
    await this.#writeOwed(peers)
    const others = peers.filter(({ name }) => !isOwn(name))
    const dead: Peer[] = []
    for (const peer of others) if (await this.#isDead(peer, peers, isRequested)) dead.push(peer)
    if (this.#endingChecks === endingChecks) this.#endingChecks = 0
    for (const { name } of dead) this.#countDead(name)
    const living = peers.filter(peer => !dead.includes(peer))
    for (const peer of dead)
      if (this.#isMyTurn(peer, living)) await this.#attempt(peer, () => this.#reap(peer))
    for (const peer of others)
      if (living.includes(peer) && this.#isSilent(peer))
        await this.#attempt(peer, () => this.#expireLeases(peer))
  }
  /** Removes on-crash statements that a writer stored late, from the connection of a process that
   *  was already reaped. */
  async #removeLateStatements(): Promise<void> {
    for (const key of this.#reapedKeys) {
      await this.#options.database.write([{ sql: REMOVE_ALL, values: [key] }])
      this.#reapedKeys.delete(key)
    }
  }
  /** Writes what processes owed that are registered no more: nothing else of them can reach the
   *  store now. */
  async #writeOwed(peers: readonly Peer[]): Promise<void> {
    const { database, log } = this.#options
    const folder = database.process?.folder
    const keys = folder?.owedKeys() ?? []
    if (!folder || keys.length === 0) return
    const registered = new Set(peers.map(({ key }) => key))
    for (const key of keys) {
      if (key === String(database.process?.key) || registered.has(key)) continue
      if ((await folder.isAlive(key)) === true) continue
      await folder.writeOwedOf(key, { database, log })
      folder.removeOwedOf(key)
    }
  }
  #countDead(name: string): void {
    const observation = this.#observations.get(name)
    if (observation)
      this.#observations.set(name, { ...observation, deadChecks: observation.deadChecks + 1 })
  }
  #checksOf(name: string): number {
    return this.#observations.get(name)?.checks ?? 0
  }
  async #isDead(peer: Peer, all: readonly Peer[], isRequested: boolean): Promise<boolean> {
    const { timeouts } = this.#options
    const isHere = this.#isHere(peer)
    const checks = this.#checksOf(peer.name)
    // A socket is probed only after a missed heartbeat, or when a process is known to have ended.
    const alive = isHere && (isRequested || checks >= 2) ? await this.#isAlive(peer) : undefined
    const silence = checks * timeouts.check
    // While PostgreSQL keeps its connection, its last statements may still run.
    const isEnding = alive === false && peer.isConnected === true && silence < timeouts.silent
    if (isEnding) this.#endingChecks++
    if (alive === false) return !isEnding
    const span = peer.isConnected === false ? timeouts.disconnected : timeouts.silent
    // A process whose connection or socket is open is alive, however long it is silent.
    if (alive || peer.isConnected || silence < span) return false
    // Its progress counts can only be read in its own folder: while any process of that folder
    // sends heartbeats, those processes reap it.
    return isHere || peer.folder === undefined || this.#isFolderSilent(peer.folder, span, all)
  }
  #isFolderSilent(folder: string, span: number, all: readonly Peer[]): boolean {
    const { timeouts } = this.#options
    const members = all.filter(each => each.folder === folder)
    return members.every(({ name }) => this.#checksOf(name) * timeouts.check >= span)
  }
  #isSilent({ name }: Peer): boolean {
    const { timeouts } = this.#options
    const span = Math.ceil(timeouts.silent / timeouts.check)
    const checks = this.#checksOf(name)
    return checks > 0 && checks % span === 0
  }
  /** One process reaps at a time: the first living one of the same folder, otherwise of all; the
   *  next one follows a check later if the dead process is still registered. */
  #isMyTurn(peer: Peer, living: readonly Peer[]): boolean {
    const able = living.filter(({ key }) => key !== undefined)
    const ofSameFolder = able.filter(({ folder }) => folder === peer.folder)
    const candidates = ofSameFolder.length > 0 ? ofSameFolder : able
    const rank = candidates.findIndex(({ name }) => this.#options.isOwn(name))
    return (this.#observations.get(peer.name)?.deadChecks ?? 0) > Math.max(0, rank)
  }
  get #folder() {
    return this.#options.database.process?.folder
  }
  async #isAlive({ key }: Peer): Promise<boolean | undefined> {
    return key === undefined ? undefined : this.#folder?.isAlive(key)
  }
  #isHere({ folder }: Peer): boolean {
    return folder !== undefined && folder === this.#folder?.id
  }
  async #reap(peer: Peer): Promise<void> {
    const { database, log, listeners } = this.#options
    const { name: dead, folder } = peer
    const isHere = this.#isHere(peer)
    if (!isHere) {
      // The calls of a process are ended before its row is removed: not if it is back meanwhile.
      await database.write([sameBeat(peer)])
      if (folder !== undefined) log.warn({ dead, folder }, CRASHED_ELSEWHERE)
    }
    await reap({ database, log, listeners: listeners() }, peer, isHere || peer.folder === undefined)
    if (peer.key !== undefined && isHere && (await this.#isAlive(peer)) === false) {
      this.#folder?.remove(peer.key)
      this.#reapedKeys.add(peer.key)
    }
    log.info({ dead }, 'a process crashed: its reservations were released')
    for (const listener of this.#peerLostListeners) listener()
  }
  /** A failure is retried at the next check and does not stop the other processes from being
   *  reaped. */
  async #attempt({ name }: Peer, act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      if ((error as { readonly code?: string }).code === STILL_ALIVE) return
      this.#options.log.warn({ process: name, error }, 'a dead process could not be reaped yet')
    }
  }
  /** Expires the leases of a silent process, so that another one can do its background work. */
  async #expireLeases(peer: Peer): Promise<void> {
    const { name } = peer
    const rows = await this.#options.database.write([
      sameBeat(peer),
      { sql: EXPIRE, values: [name] },
    ])
    if (rows[1]?.length) for (const listener of this.#peerLostListeners) listener()
  }
}

const parsePeer = ({ id, beat, client, folder, connected: hasLock }: Row): Peer => ({
  name: String(id),
  beat: Number(beat),
  key: client === null || client === undefined ? undefined : String(client),
  folder: folder === null ? undefined : String(folder),
  isConnected: hasLock === null ? undefined : hasLock === 1,
})
