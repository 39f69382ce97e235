/** Reads one side of `tollgate diff`: a file, a stored version, or the version that is live. */
import { resolve } from 'node:path'
import { type PreparedConfig, prepare } from '../../config/load.ts'
import { archivedSource, fileSource } from '../../config/read.ts'
import { errors } from '../../errors.ts'
import { History, type HistoryEntry } from '../../processes/history.ts'
import { findRunning, requestStatus } from '../../processes/running-gateway.ts'
import type { Terminal } from '../command.ts'
import { withCache } from '../command-cache.ts'
import { settingsOf } from '../load-for-command.ts'

export interface Side {
  /** `#12`, or the path of a file. */
  readonly name: string
  readonly prepared: PreparedConfig
}
const fault = errors({
  VERSION_UNKNOWN: [404, 'the history has no version %d; it keeps the last 20 that went live'],
  NO_HISTORY: [
    404,
    'no gateway is running and no version was ever live here; name two files: tollgate diff OLD.yaml NEW.yaml',
  ],
})

/** `name`: `12` or `#12` for a version, otherwise the path of a file; undefined: what is live, else
 *  the version that was live last. */
export const readSide = async (
  name: string | undefined,
  config: string,
  terminal: Terminal,
): Promise<Side> => {
  const version = name === undefined ? undefined : /^#?(\d+)$/.exec(name)?.[1]
  if (name !== undefined && version === undefined) return readFileSide(name, terminal)
  const { data } = settingsOf(config, terminal)
  const history = new History(resolve(data, 'history'), resolve(data, 'cache'))
  const number = version === undefined ? await liveVersion(data) : Number(version)
  const entry = number === undefined ? history.last : history.find(number)
  if (!entry) throw number === undefined ? fault('NO_HISTORY') : fault('VERSION_UNKNOWN', [number])
  return readVersion(entry, config, terminal)
}

/** The number of the version that the running gateway serves. */
const liveVersion = async (data: string): Promise<number | undefined> => {
  const running = findRunning(data)
  return running && (await requestStatus(running).catch(() => undefined))?.version
}

export const readFileSide = async (file: string, terminal: Terminal): Promise<Side> => {
  const source = fileSource(terminal.env)
  const { data } = settingsOf(file, terminal)
  return withCache(data, async cacheFolder => ({
    name: file,
    prepared: await prepare({ config: file, version: 0, cacheFolder, source }),
  }))
}

const readVersion = (entry: HistoryEntry, config: string, terminal: Terminal): Promise<Side> => {
  const source = archivedSource(resolve(config, '..'), entry.files, fileSource(terminal.env))
  const { data } = settingsOf(config, terminal)
  return withCache(data, async cacheFolder => ({
    name: `#${entry.version}`,
    prepared: await prepare({
      config,
      version: entry.version,
      cacheFolder,
      source,
      bundles: entry.plugins,
    }),
  }))
}
