/** Loads a configuration for a CLI command, with or without a running gateway, and cleans up. */
import { fileSource, read, type Source } from '../config/read.ts'
import { readSettings, type Settings } from '../config/settings.ts'
import { SharedResources } from '../config/shared-resources.ts'
import { BackgroundCalls } from '../egress/background-calls.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createLocalAllowances } from '../quota/allowance.ts'
import type { Resources } from '../snapshot/resources.ts'
import type { OpenDatabase } from '../store/database.ts'
import { noJobs } from '../store/jobs.ts'
import { createMembership } from '../store/membership.ts'
import type { Terminal } from './command.ts'
import { withCache } from './command-cache.ts'
import { guardedLoad, type LoadedConfig } from './guard/guarded-load.ts'
import type { LiveVersion } from './last-live.ts'

/** Reads the settings without validation; invalid ones are replaced by the defaults. */
export const settingsOf = (
  config: string,
  { env }: Terminal,
  source: Source = fileSource(env),
): Settings => {
  const { settings } = read(config, source).document
  try {
    return readSettings(settings as object, env)
  } catch {
    return readSettings({}, env)
  }
}

export interface CommandConfig extends LoadedConfig {
  readonly resources: Resources
}
export interface CommandDatabase extends OpenDatabase {
  /** Until this call stages are only set up: the database is read-only, and may be absent. */
  begin?(): void
  /** Rejects with a fault of the store if a start would refuse it. */
  assertStartable?(): Promise<void>
}
export type Open = (settings: Settings) => CommandDatabase

/** Loads the configuration, runs the command and releases all resources. `open`: opens the database
 *  for plugins. `live`: loads this version instead of the files. */
export const withLoadedConfig = <T>(
  config: string,
  terminal: Terminal,
  open: Open,
  run: (configuration: CommandConfig) => Promise<T>,
  live?: LiveVersion,
): Promise<T> => {
  const { source = fileSource(terminal.env), bundles } = live ?? {}
  const settings = settingsOf(config, terminal, source)
  return withResources(settings, open, (resources, database) =>
    withCache(settings.data, async cacheFolder => {
      const { assertStartable } = database
      const configuration = await guardedLoad({
        config,
        version: 0,
        cacheFolder,
        resources,
        source,
        ...(bundles && { bundles }),
        ...(assertStartable && { assertStore: assertStartable }),
      })
      try {
        database.begin?.()
        return await run({ ...configuration, resources })
      } finally {
        await configuration.snapshot.retire()
      }
    }),
  )
}

/** Calls `run` with the resources of a command, and releases them. */
export const withResources = async <T>(
  settings: Settings,
  open: Open,
  run: (resources: Resources, database: CommandDatabase) => Promise<T>,
): Promise<T> => {
  const database = open(settings)
  const metrics = createMetrics('command')
  const log = createLog({ level: 'warn', process: 'command', destination: stderr })
  const resources: Resources = {
    role: 'command',
    log,
    metrics,
    database,
    shared: new SharedResources(),
    allowances: createLocalAllowances(),
    jobs: noJobs,
    backgroundCalls: new BackgroundCalls(),
    membership: createMembership({ database, log }),
  }
  try {
    return await run(resources, database)
  } finally {
    metrics.close()
    await database.close()
  }
}
// stdout is for the result of the command.
const stderr = { write: (line: string) => void process.stderr.write(line) }
