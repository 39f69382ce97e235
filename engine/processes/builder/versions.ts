/** Loads versions: from the files of the configuration, or from the history for a rollback. */
import { dirname, resolve } from 'node:path'
import { type Blueprint, type LoadedConfig, load } from '../../config/load.ts'
import { ProblemsError } from '../../config/problem.ts'
import { archivedSource } from '../../config/read.ts'
import { readSettings } from '../../config/settings.ts'
import type { Build } from '../messages.ts'
import type { BuilderContext } from './context.ts'
import { type RecordedReads, recordReads } from './recording-source.ts'

export interface LoadedVersion extends LoadedConfig {
  /** Number of the version that a rollback restores. */
  readonly from?: number
  /** Its inputs. */
  readonly reads: RecordedReads
}

/** Loads the files, or an archived version. A first build whose content equals the last stored
 *  version keeps the number of that version. */
export const loadVersion = async (
  context: BuilderContext,
  serving: Blueprint | undefined,
  { rollback }: Build,
): Promise<LoadedVersion> => {
  const { config, cacheFolder, resources, history, recordStep } = context
  const reads = recordReads(context.source)
  const last = history.lastSummary
  const version = Math.max(serving?.version ?? 0, last?.version ?? 0) + 1
  const archivedVersion = rollback && findArchived(context, serving?.version ?? 0, rollback)
  const candidate: LoadedVersion = {
    ...(await load({
      config,
      version,
      cacheFolder,
      resources,
      source: reads.source,
      ...archivedVersion,
      before: serving,
      progress: recordStep,
      assertStore: assertNextStore(context),
    })),
    ...(archivedVersion && { from: archivedVersion.from }),
    reads,
  }
  if (serving || last?.hash !== candidate.blueprint.hash) return candidate
  return { ...candidate, blueprint: { ...candidate.blueprint, version: last.version } }
}

/** Another store is used from the next start on: what a start would refuse does not go live. */
export const assertNextStore =
  ({ database: current }: Pick<BuilderContext, 'database'>) =>
  async ({ document }: Blueprint): Promise<void> => {
    const { database, data } = readSettings(document.settings as object)
    if (database === current) return
    const { refuseUnservable } = await import('../../cli/store/store-in-use.ts')
    // A start decides on a pool that is full now.
    await refuseUnservable(database, data, () => {})
  }

/** Texts and bundles of an earlier version; variables take their current values. `live`: number of
 *  the version that serves. */
const findArchived = (
  { config, history, source: current }: BuilderContext,
  live: number,
  target: number | 'previous',
) => {
  const entry = target === 'previous' ? history.previousTo(live) : history.find(target)
  if (!entry) {
    const which = target === 'previous' ? `before #${live}` : `#${target}`
    const message = `no version ${which} is stored; see history/ in the data folder`
    throw new ProblemsError([{ code: 'NO_VERSION', message, file: config, line: 1, column: 1 }])
  }
  const source = archivedSource(dirname(resolve(config)), entry.files, current)
  return { source, bundles: entry.plugins, from: entry.from ?? entry.version }
}
