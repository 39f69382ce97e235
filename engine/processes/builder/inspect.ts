/** Answers of the builder about versions and texts without building a version: the history, its
 *  files and their differences, and the problems of a text in an editor. */
import { basename, dirname, matchesGlob, resolve } from 'node:path'
import { diff as diffLines } from 'node:util'
import { readOnlyDatabase } from '../../cli/databases.ts'
import { formatPath } from '../../config/format-path.ts'
import { load } from '../../config/load.ts'
import { bundlePlugins } from '../../config/plugins/bundle.ts'
import { importPlugins } from '../../config/plugins/import.ts'
import { pluginFolders } from '../../config/plugins/plugin-folders.ts'
import { type Problem, ProblemsError, problemHint, problemText } from '../../config/problem.ts'
import { read, type Source } from '../../config/read.ts'
import { schemaWithDefinitions } from '../../config/schema.ts'
import { SharedResources } from '../../config/shared-resources.ts'
import { errors } from '../../errors.ts'
import type { ConfigFiles, FileDiff, ProblemView, VersionView } from '../../plugin.ts'
import type { Inspection } from '../messages.ts'
import { type BuilderContext, readFirstSettings } from './context.ts'
import { replaceFile } from './replace-file.ts'

const fault = errors({
  NO_VERSION: [404, 'No version #%d is stored. The history lists the stored versions.'],
  NO_FILE: [404, 'The configuration does not read the file "%s".', { param: 'file' }],
  FILE_CHANGED: [
    409,
    'The file "%s" was changed meanwhile. Nothing was saved. Reload it, and make your change again.',
  ],
})

export const inspect = (context: BuilderContext, inspection: Inspection): Promise<unknown> => {
  if (inspection.name === 'history') return Promise.resolve(historyOf(context, inspection.live))
  if (inspection.name === 'schema') return schemaOf(context)
  if (inspection.name === 'check') return problemsOf(context, inspection)
  return Promise.try(() =>
    inspection.name === 'save'
      ? saveFile(context, inspection)
      : inspection.name === 'files'
        ? filesOf(context, inspection.version)
        : diffOf(filesOf(context, inspection.from), filesOf(context, inspection.to)),
  )
}

const historyOf = ({ history }: BuilderContext, live: number): readonly VersionView[] =>
  history.list().map(({ files, plugins, ...entry }) => ({
    ...entry,
    isLive: entry.version === live,
    files: Object.keys(files),
  }))

/** Without a version: the files on the disk, also of a configuration with problems, and what the
 *  last version attaches (schemas). */
const filesOf = (
  { history, config, source }: BuilderContext,
  version: number | undefined,
): ConfigFiles => {
  if (version === undefined) {
    const root = dirname(resolve(config))
    const known = Object.keys(history.last?.files ?? {}).flatMap(name => {
      const text = source.text(resolve(root, name))
      return text === undefined ? [] : [[name, text] as const]
    })
    return Object.fromEntries([...known, ...read(config, source).files])
  }
  const entry = history.find(version)
  if (!entry) throw fault('NO_VERSION', [version])
  return entry.files
}

const saveFile = (
  context: BuilderContext,
  { file, text, before }: Extract<Inspection, { name: 'save' }>,
): void => {
  const path = resolve(dirname(resolve(context.config)), file)
  if (!Object.hasOwn(filesOf(context, undefined), file)) throw fault('NO_FILE', [file])
  if (!replaceFile(path, text, before)) throw fault('FILE_CHANGED', [file])
}

const diffOf = (before: ConfigFiles, after: ConfigFiles): readonly FileDiff[] => {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap(file => {
    const [old = '', now = ''] = [before[file], after[file]]
    return old === now ? [] : [{ file, lines: unified(old.split('\n'), now.split('\n')) }]
  })
}

const schemaOf = async ({ config, cacheFolder, source }: BuilderContext): Promise<object> => {
  const reading = read(config, source)
  const { root } = reading
  const { bundles, inputs } = await bundlePlugins(pluginFolders(reading), root, cacheFolder)
  const { plugins } = await importPlugins(bundles, root, inputs, () => {})
  return schemaWithDefinitions(plugins)
}

/** Unchanged lines around a change. */
const CONTEXT = 3
const SIGNS = { '-1': '+', '0': ' ', '1': '-' } as const

/** Hunks of a unified diff, without the header of the file. */
const unified = (before: readonly string[], after: readonly string[]): readonly string[] => {
  // `diff` marks with 1 what only its first list has: so removed lines come first.
  const lines = diffLines(before, after).map(([kind, text]) => ({ sign: SIGNS[kind], text }))
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' ')
  const result: string[] = []
  let [oldLine, newLine] = [1, 1]
  let hunk:
    | { header: number; old: number; new: number; oldStart: number; newStart: number }
    | undefined
  const close = (): void => {
    if (!hunk) return
    result[hunk.header] = `@@ -${hunk.oldStart},${hunk.old} +${hunk.newStart},${hunk.new} @@`
    hunk = undefined
  }
  for (const [index, { sign, text }] of lines.entries()) {
    const [isOld, isNew] = [sign !== '+', sign !== '-']
    if (isNear(index)) {
      hunk ??= { header: result.push('') - 1, old: 0, new: 0, oldStart: oldLine, newStart: newLine }
      result.push(sign + text)
      if (isOld) hunk.old++
      if (isNew) hunk.new++
    } else close()
    if (isOld) oldLine++
    if (isNew) newLine++
  }
  close()
  return result
}

/** Loads the configuration with a text in place of a file, as `tollgate check` does: the store is
 *  only read, and what the plugins share is thrown away. */
const problemsOf = async (
  { config, cacheFolder, resources, source: current }: BuilderContext,
  { text, file }: Extract<Inspection, { name: 'check' }>,
): Promise<readonly ProblemView[]> => {
  const root = dirname(resolve(config))
  const path = resolve(root, file ?? basename(config))
  const source = withText(current, path, text)
  const database = readOnlyDatabase(readFirstSettings(config))
  const own = { ...resources, role: 'command' as const, database, shared: new SharedResources() }
  try {
    const { snapshot } = await load({ config, version: 0, cacheFolder, resources: own, source })
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
