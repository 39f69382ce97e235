/** The writer process of an embedded store, as the primary starts, watches and stops it. */
import type { Log } from '../../plugin.ts'
import { forkWriter, isPostgres, locate } from '../../store/database.ts'
import {
  logMigrations,
  type MigrationStep,
  type OnMigration,
} from '../../store/sqlite/migration-log.ts'
import { Child } from '../child.ts'
import type { StoreSettings } from '../messages.ts'
import { createWatchdog } from '../watchdog.ts'
import { type InstanceLock, takeInstanceLock } from './instance-lock.ts'

interface WriterMessage {
  readonly type: string
  readonly code?: string
  readonly message?: string
  readonly step?: MigrationStep
}
export interface StoreWriterOptions {
  readonly log: Log
  /** Whether a store that was moved is taken into use again. */
  readonly isAnyway: boolean
  /** Called once if the gateway cannot start for lack of a store. `reason`: one sentence with the
   *  remedy. */
  onMissing(reason: string): void
}

/** ms between two pings. */
const PING_INTERVAL = 500
const WRITER_ID = 0

export class StoreWriter {
  readonly #options: StoreWriterOptions
  readonly #watchdog = createWatchdog(PING_INTERVAL)
  readonly #onMigration: OnMigration
  #timer: NodeJS.Timeout | undefined
  #child: Child<{ readonly type: 'stop' | 'ping' }, WriterMessage> | undefined
  /** Kept as long as this process runs: the lock ends with it. */
  #lock: Promise<InstanceLock> | undefined
  #isMissing = false
  #isStarted = false

  constructor(options: StoreWriterOptions) {
    this.#options = options
    this.#onMigration = logMigrations(options.log)
  }
  /** Whether the start failed for lack of a store. */
  get isMissing(): boolean {
    return this.#isMissing
  }
  /** Whether the writer crashes repeatedly. */
  get looping(): boolean {
    return this.#child?.looping === true
  }
  /** ms since the writer last answered; 0 without a writer. */
  get silence(): number {
    return this.#watchdog.silence(WRITER_ID)
  }
  /** Checks that no other gateway uses the data folder, then starts the writer; once. */
  async open(store: StoreSettings): Promise<void> {
    this.#lock ??= takeInstanceLock(store.data)
    const lock = await this.#lock
    if ('reason' in lock) this.#fail(lock.reason)
    else this.#start(store)
  }
  /** The gateway serves: from now on a writer that fails is only restarted. */
  markStarted(): void {
    this.#isStarted = true
    if (!this.#child) return
    this.#watchdog.beat(WRITER_ID)
    this.#timer = setInterval(() => {
      this.#watchdog.tick()
      this.#child?.send({ type: 'ping' })
    }, PING_INTERVAL)
  }
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#child?.stop({ type: 'stop' })
  }

  #start({ database: url, data, durability }: StoreSettings): void {
    // Every process connects to PostgreSQL by itself.
    if (isPostgres(url)) return
    const address = locate(url, data)
    const moved = this.#options.isAnyway ? 'reuse' : 'refuse'
    this.#child ??= new Child({
      name: 'writer',
      log: this.#options.log,
      start: () => forkWriter(address, { durability, moved }),
      onMessage: message => this.#onMessage(message, address.file),
    })
  }
  #onMessage({ type, code, message, step }: WriterMessage, file: string): void {
    const { log } = this.#options
    if (step) this.#onMigration(step)
    if (type === 'pong') this.#watchdog.beat(WRITER_ID)
    if (type === 'warning') log.warn({ message }, 'the writer warns')
    if (type !== 'failed') return
    log.error({ message }, 'the writer cannot start')
    if (this.#isStarted) return
    if (code === 'STORE_MOVED' && message !== undefined) return this.#fail(message)
    const why = message ?? 'the store cannot be opened'
    this.#fail(
      `${why}; the store is ${file}, set by settings.database or settings.data (DATABASE_URL, TOLLGATE_DATA)`,
    )
  }
  #fail(reason: string): void {
    if (this.#isMissing) return
    this.#isMissing = true
    this.#options.onMissing(reason)
  }
}
