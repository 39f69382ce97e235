/** The shipped plugins as one script: loading one file takes a third of the time of a hundred. They
 *  change with the program only, so none needs to be loaded alone. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { BuildOptions, BuildResult, Metafile } from 'esbuild'
import { writeAtomically } from '../disk.ts'
import { type BuildOutput, type Candidate, digest } from './bundle-cache.ts'
import type { PluginEntry } from './plugin-files.ts'

export type EsbuildResult = BuildResult<{ write: false; metafile: true }>

/** A file without a default export is shared code of plugins. */
const isPlugin = ({ path }: PluginEntry): boolean =>
  /^export default |\bas default\b/m.test(readFileSync(path, 'utf8'))

/** One script that exports each plugin by its name. */
export const shippedInput = (entries: readonly PluginEntry[]): BuildOptions => ({
  stdin: {
    contents: entries
      .filter(isPlugin)
      .map(
        ({ path, name }) =>
          `export { default as ${JSON.stringify(name)} } from ${JSON.stringify(path)}`,
      )
      .join('\n'),
    resolveDir: dirname(entries[0]?.path ?? ''),
    sourcefile: 'plugins.ts',
  },
  entryNames: 'plugins-[hash]',
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  // A script has no loader for them.
  supported: { 'dynamic-import': false },
})

export const writeShipped = (
  entries: readonly PluginEntry[],
  { metafile, outputFiles }: EsbuildResult,
  sources: BuildOutput['sources'],
  cacheFolder: string,
): readonly Candidate[] => {
  for (const { path, text } of outputFiles) if (!existsSync(path)) writeAtomically(path, text)
  const script = outputFiles.find(({ path }) => path.endsWith('.cjs'))
  const bundle = join(cacheFolder, basename(script?.path ?? ''))
  // A program for browsers is not a source file: it may have changed with each of the others.
  const hashOf = (path: string): string => sources[path]?.hash ?? bundle
  const importsOf = createImports(metafile, cacheFolder)
  return entries.map(entry => {
    if (!isPlugin(entry)) return { entry, problems: [] }
    const { name, file, path } = entry
    const hash = digest([...importsOf(path)].sort().map(hashOf).join())
    return { entry, bundle: { name, file, bundle, hash, isShipped: true }, problems: [] }
  })
}

/** Finds the absolute paths of a source and of all that it imports. */
const createImports = ({ inputs }: Metafile, folder: string) => {
  const direct = new Map(
    Object.entries(inputs).map(([name, { imports }]) => [
      resolve(folder, name),
      imports.flatMap(({ path, external }) => (external ? [] : [resolve(folder, path)])),
    ]),
  )
  return (entry: string): ReadonlySet<string> => {
    const files = new Set<string>()
    const add = (path: string): void => {
      if (files.has(path)) return
      files.add(path)
      for (const each of direct.get(path) ?? []) add(each)
    }
    add(entry)
    return files
  }
}
