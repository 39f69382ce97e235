/** Loads a configuration for a CLI command, with or without a running gateway, and cleans up. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type LoadedConfig, load } from '../config/load.ts'
import { fileSource, read } from '../config/read.ts'
import type { Settings } from '../config/settings.ts'
import { readSettings } from '../config/settings.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { createLocalAllowances } from '../quota/allowance.ts'
import { BackgroundCalls } from '../request/background-calls.ts'
import type { Resources } from '../snapshot/resources.ts'
import { SharedResources } from '../snapshot/shared-resources.ts'
import { type OpenDatabase, openDatabase, openForReading } from '../store/database.ts'
import { noJobs } from '../store/jobs.ts'
import { createLazyDatabase } from '../store/lazy-database.ts'
import { createMembership } from '../store/membership.ts'
import type { Terminal } from './command.ts'

/** Reads the settings without validation; invalid ones are replaced by the defaults. */
export const settingsOf = (config: string, { env }: Terminal): Settings => {
  const { settings } = read(config, fileSource(env)).document
  try {
    return readSettings(settings as object)
  } catch {
    return readSettings()
  }
}

export interface OfflineConfig extends LoadedConfig {
  readonly resources: Resources
}
export type Open = (settings: Settings) => OpenDatabase

/** Loads the configuration, runs the command and releases all resources. `open`: opens the database
 *  for plugins. */
export const withLoadedConfig = async <T>(
  config: string,
  terminal: Terminal,
  open: Open,
  run: (configuration: OfflineConfig) => Promise<T>,
): Promise<T> => {
  const settings = settingsOf(config, terminal)
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
  const source = fileSource(terminal.env)
  try {
    return await withCache(settings.data, async cacheFolder => {
      const configuration = await load({ config, version: 0, cacheFolder, resources, source })
      try {
        return await run({ ...configuration, resources })
      } finally {
        await configuration.snapshot.retire()
      }
    })
  } finally {
    metrics.close()
    await database.close()
  }
}
// stdout is for the result of the command.
const stderr = { write: (line: string) => void process.stderr.write(line) }

/** Calls `run` with the bundle folder of the data folder, otherwise with a temporary folder. */
export const withCache = async <T>(
  data: string,
  run: (folder: string) => Promise<T>,
): Promise<T> => {
  if (isWritable(data)) return run(resolve(data, 'cache'))
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  try {
    return await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Whether bundles can be written to a data folder; not so in a read-only checkout. */
const isWritable = (data: string): boolean => {
  const cache = resolve(data, 'cache')
  try {
    const folder = existsSync(cache) ? cache : data
    accessSync(folder, constants.W_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}

/** The configured database, opened on first use; starts a writer if none is running. */
export const realDatabase: Open = ({ database: url, data }) =>
  createLazyDatabase(() => openDatabase({ url, data, start: true }))

/** A read-only database: writes resolve without effect. */
export const readOnlyDatabase: Open = ({ database: url, data }) => {
  const opening = openForReading(url, data)
  // A failed open rejects reads only, so that commands that do not read continue.
  opening.catch(() => {})
  return {
    read: async (sql, values) => (await (await opening)?.read(sql, values)) ?? [],
    write: async statements => statements.map(() => []),
    async *pages() {},
    now: async () => Date.now(),
    migrate: async () => {},
    setCrashStatements: () => {},
    progress: () => {},
    close: async () => (await opening.catch(() => undefined))?.close(),
  }
}
