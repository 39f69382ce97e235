/** The problems that the configuration would have with another text of a file. */
import { basename, dirname, matchesGlob, resolve } from 'node:path'
import { readOnlyDatabase } from '../../cli/databases.ts'
import { formatPath } from '../../config/format-path.ts'
import { load } from '../../config/load.ts'
import { type Problem, ProblemsError, problemHint, problemText } from '../../config/problem.ts'
import type { Source } from '../../config/read.ts'
import { SharedResources } from '../../config/shared-resources.ts'
import type { ProblemView } from '../../plugin.ts'
import type { Inspection } from '../messages.ts'
import { type BuilderContext, readFirstSettings } from './context.ts'
import { assertNextStore } from './versions.ts'

/** Loads the configuration with a text in place of a file, as `tollgate check` does: the store is
 *  only read, and what the plugins share is thrown away. */
export const problemsOf = async (
  {
    config,
    cacheFolder,
    resources,
    source: current,
  }: Pick<BuilderContext, 'config' | 'cacheFolder' | 'resources' | 'source'>,
  { text, file }: Pick<Extract<Inspection, { name: 'check' }>, 'text' | 'file'>,
): Promise<readonly ProblemView[]> => {
  const root = dirname(resolve(config))
  const path = resolve(root, file ?? basename(config))
  const source = withText(current, path, text)
  const settings = readFirstSettings(config)
  const database = readOnlyDatabase(settings)
  const own = { ...resources, role: 'command' as const, database, shared: new SharedResources() }
  try {
    const options = { config, version: 0, cacheFolder, resources: own, source }
    const { snapshot } = await load({ ...options, assertStore: assertNextStore(settings) })
    await snapshot.retire()
    return []
  } catch (error) {
    if (error instanceof ProblemsError) return error.problems.map(viewOf)
    const message = error instanceof Error ? error.message : String(error)
    const place = { file: formatPath(root, path), line: 1, column: 1 }
    return [{ code: 'LOAD_FAILED', message, ...place }]
  } finally {
    await database.close()
  }
}

const viewOf = (problem: Problem): ProblemView => {
  const hint = problemHint(problem)
  return { ...problem, text: problemText(problem), ...(hint !== undefined && { hint }) }
}

/** An included file may be new: patterns find it as if it were on the disk. */
const withText = (source: Source, path: string, text: string): Source => ({
  ...source,
  text: each => (each === path ? text : source.text(each)),
  list: (pattern, root) => {
    const isListed = matchesGlob(path, resolve(root, pattern))
    return [...new Set([...source.list(pattern, root), ...(isListed ? [path] : [])])]
  },
})
