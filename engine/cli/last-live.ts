/** The version that went live last, for commands while routes.yaml has problems. */
import { dirname, resolve } from 'node:path'
import type { Bundle } from '../config/compile/blueprint.ts'
import { archivedSource, fileSource, read, type Source } from '../config/read.ts'
import { readSettings } from '../config/settings.ts'
import { History } from '../processes/history.ts'
import type { Terminal } from './command.ts'

export interface LiveVersion {
  readonly version: number
  readonly source: Source
  readonly bundles: readonly Bundle[]
}

/** Undefined where no version ever went live with this data folder. */
export const findLastLive = (config: string, { env }: Terminal): LiveVersion | undefined => {
  const folder = dataFolder(config, env)
  const entry = new History(resolve(folder, 'history'), resolve(folder, 'cache')).last
  if (!entry) return undefined
  const source = archivedSource(dirname(resolve(config)), entry.files, fileSource(env))
  return { version: entry.version, source, bundles: entry.plugins }
}

/** As much of a broken file may say, else the variable or the default. */
const dataFolder = (config: string, env: Terminal['env']): string => {
  try {
    return readSettings(read(config, fileSource(env)).document.settings as object, env).data
  } catch {
    return env.TOLLGATE_DATA || 'data'
  }
}

export const lastLiveNote = (config: string, { version }: LiveVersion): string =>
  `${config} has problems (see: tollgate check); this command uses version #${version}, which went live last`
