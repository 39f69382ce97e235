/** Answers of the builder about versions and texts without building a version: the history, its
 *  files and their differences, and the problems of a text in an editor. */
import { dirname, resolve } from 'node:path'
import { bundlePlugins } from '../../config/plugins/bundle.ts'
import { importPlugins } from '../../config/plugins/import.ts'
import { pluginFolders } from '../../config/plugins/plugin-folders.ts'
import { read } from '../../config/read.ts'
import { schemaWithDefinitions } from '../../config/schema.ts'
import { errors } from '../../errors.ts'
import type { ConfigFiles, VersionView } from '../../plugin.ts'
import type { Inspection } from '../messages.ts'
import { problemsOf } from './check-text.ts'
import type { BuilderContext } from './context.ts'
import { diffOf } from './diff.ts'
import { editFile } from './edit-file.ts'
import { replaceFile } from './replace-file.ts'

const fault = errors({
  NO_VERSION: [404, 'No version #%d is stored. The history lists the stored versions.'],
  NO_FILE: [404, 'The configuration does not read the file "%s".', { param: 'file' }],
  FILE_CHANGED: [
    409,
    'The file "%s" was changed meanwhile. Nothing was saved. Reload it, and make your change again.',
  ],
  FILE_NOT_WRITTEN: [
    409,
    'The file "%s" could not be written: %s. Nothing was changed. The user of the gateway must be able to write to its folder; a mounted file cannot be replaced, but a mounted folder can.',
  ],
})

/** The part of the builder's context that the inspections need; a command has it too. */
export interface InspectionContext
  extends Pick<BuilderContext, 'config' | 'cacheFolder' | 'resources' | 'source'> {
  readonly history: Pick<BuilderContext['history'], 'last' | 'list' | 'find'>
}

export const inspect = (context: InspectionContext, inspection: Inspection): Promise<unknown> => {
  if (inspection.name === 'history') return Promise.resolve(historyOf(context, inspection.live))
  if (inspection.name === 'schema') return schemaOf(context)
  if (inspection.name === 'check') return problemsOf(context, inspection)
  return Promise.try(() =>
    inspection.name === 'save'
      ? saveFile(context, inspection)
      : inspection.name === 'edit'
        ? editFile(filesOf(context, undefined), inspection.edit)
        : inspection.name === 'files'
          ? filesOf(context, inspection.version)
          : diffOf(filesOf(context, inspection.from), filesOf(context, inspection.to)),
  )
}

const historyOf = ({ history }: InspectionContext, live: number): readonly VersionView[] =>
  history.list().map(({ files, plugins, ...entry }) => ({
    ...entry,
    isLive: entry.version === live,
    files: Object.keys(files),
  }))

/** Without a version: the files on the disk, also of a configuration with problems, and what the
 *  last version attaches (schemas). */
const filesOf = (
  { history, config, source }: InspectionContext,
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
  context: InspectionContext,
  { file, text, before }: Extract<Inspection, { name: 'save' }>,
): void => {
  const path = resolve(dirname(resolve(context.config)), file)
  if (!Object.hasOwn(filesOf(context, undefined), file)) throw fault('NO_FILE', [file])
  try {
    if (replaceFile(path, text, before)) return
  } catch (error) {
    throw fault('FILE_NOT_WRITTEN', [file, error instanceof Error ? error.message : String(error)])
  }
  throw fault('FILE_CHANGED', [file])
}

const schemaOf = async ({ config, cacheFolder, source }: InspectionContext): Promise<object> => {
  const reading = read(config, source)
  const { root } = reading
  const { bundles, inputs } = await bundlePlugins(pluginFolders(reading), root, cacheFolder)
  const { plugins } = await importPlugins(bundles, root, inputs, () => {})
  return schemaWithDefinitions(plugins)
}
