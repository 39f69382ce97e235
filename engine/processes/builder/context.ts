/** The context of the builder process: its settings, store, resources and history of versions. */
import { resolve } from 'node:path'
import { fileSource, read, type Source } from '../../config/read.ts'
import type { Settings } from '../../config/settings.ts'
import { readSettings } from '../../config/settings.ts'
import { SharedResources } from '../../config/shared-resources.ts'
import { BackgroundCalls } from '../../egress/background-calls.ts'
import { createLog, type ProcessLog } from '../../observe/log.ts'
import { createMetrics } from '../../observe/metrics.ts'
import { createLocalAllowances } from '../../quota/allowance.ts'
import type { Resources } from '../../snapshot/resources.ts'
import { noJobs } from '../../store/jobs.ts'
import { createMembership } from '../../store/membership.ts'
import { History } from '../history.ts'
import type { FromBuilder } from '../messages.ts'
import { lazyStore } from './lazy-store.ts'
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
  /** URL of the store in use, until the next start. */
  readonly database: string
  /** Records that code of this plugin file runs next. */
  recordStep(file: string): void
  /** Sends a message to the primary. */
  send(message: FromBuilder): void
}
/** ms between metrics reports. */
const METRICS_INTERVAL = 5_000

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
  const settings = readFirstSettings(config, source)
  const { data, database: url, durability } = settings
  const cacheFolder = resolve(data, 'cache')
  const log = createLog({ level: settings.log.level, process: 'builder' })
  const metrics = createMetrics('builder')
  setInterval(() => send({ type: 'metrics', samples: metrics.report() }), METRICS_INTERVAL)
  const database = lazyStore(settings, log, () =>
    send({ type: 'store', store: { database: url, data, durability } }),
  )
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
    database: url,
    recordStep: stepWriter(RUNNING_FILE_FD),
    send,
  }
}
