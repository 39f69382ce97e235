/** What the builder process works with: its settings, store, resources and history of versions. */
import { resolve } from 'node:path'
import { fileSource, read, type Source } from '../../config/read.ts'
import type { Settings } from '../../config/settings.ts'
import { readSettings } from '../../config/settings.ts'
import { BackgroundCalls } from '../../egress/background-calls.ts'
import { createLog, type ProcessLog } from '../../observe/log.ts'
import { createMetrics } from '../../observe/metrics.ts'
import { createLocalAllowances } from '../../quota/allowance.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { SharedResources } from '../../snapshot/shared-resources.ts'
import { openDatabase } from '../../store/database.ts'
import { noJobs } from '../../store/jobs.ts'
import { createLazyDatabase } from '../../store/lazy-database.ts'
import { createMembership } from '../../store/membership.ts'
import { logMigrations } from '../../store/sqlite/migration-log.ts'
import { History } from '../history.ts'
import type { FromBuilder } from '../messages.ts'
import { RUNNING_FILE_FD, stepWriter } from './running-file.ts'

export interface BuilderContext {
  /** Path of routes.yaml. */
  readonly config: string
  /** Folder of the bundled plugins. */
  readonly cacheFolder: string
  readonly history: History
  readonly log: ProcessLog
  readonly resources: Resources
  readonly source: Source
  /** Records that code of this plugin file runs next. */
  recordStep(file: string): void
  /** Sends a message to the primary. */
  send(message: FromBuilder): void
}
/** ms between metrics reports. */
const METRICS_INTERVAL = 5_000
/** Longest wait for the store, ms. */
const OPEN_TIMEOUT = 8_000

/** Settings before validation, the defaults where routes.yaml cannot be read; the build reports
 *  the problems. */
export const readFirstSettings = (config: string, source = fileSource()): Settings => {
  try {
    return readSettings(read(config, source).document.settings as object)
  } catch {
    return readSettings()
  }
}

export const createContext = (config: string, send: BuilderContext['send']): BuilderContext => {
  const source = fileSource()
  const { data, database: url, durability, log: logSettings } = readFirstSettings(config, source)
  const cacheFolder = resolve(data, 'cache')
  const log = createLog({ level: logSettings.level, process: 'builder' })
  const metrics = createMetrics('builder')
  setInterval(() => send({ type: 'metrics', samples: metrics.report() }), METRICS_INTERVAL)
  // Lazy: a configuration that fails validation creates no folder and opens no store.
  const database = createLazyDatabase(() => {
    send({ type: 'store', store: { database: url, data, durability } })
    return openDatabase({
      url,
      data,
      openTimeout: OPEN_TIMEOUT,
      onMigration: logMigrations(log),
    })
  })
  return {
    config,
    cacheFolder,
    history: new History(resolve(data, 'history'), cacheFolder),
    log,
    resources: {
      role: 'builder',
      log,
      metrics,
      database,
      shared: new SharedResources(),
      allowances: createLocalAllowances(),
      jobs: noJobs,
      backgroundCalls: new BackgroundCalls(),
      membership: createMembership({ database, log }),
    },
    source,
    recordStep: stepWriter(RUNNING_FILE_FD),
    send,
  }
}
