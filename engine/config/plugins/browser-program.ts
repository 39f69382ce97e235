/** Bundles the programs for browsers that a plugin imports:
 *  `import files from './client/main.tsx?browser'`. */
import { basename, join } from 'node:path'
import type { BuildFailure, BuildOptions, Plugin as BuildPlugin, PluginBuild } from 'esbuild'

const SUFFIX = '?browser'

/** An esbuild plugin. Such an import becomes the texts of the minified files by their names, which
 *  contain hashes of their content. `read`: reads the sources. */
export const browserPrograms = (read: BuildPlugin): BuildPlugin => ({
  name: 'browser',
  setup({ onResolve, onLoad, esbuild, initialOptions }: PluginBuild) {
    const { absWorkingDir = '/' } = initialOptions
    onResolve({ filter: /\?browser$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.slice(0, -SUFFIX.length)),
      namespace: 'browser',
    }))
    onLoad({ filter: /./, namespace: 'browser' }, async ({ path }) => {
      try {
        const { outputFiles } = await esbuild.build(optionsFor(path, absWorkingDir, read))
        const files = outputFiles.map(({ path: file, text }) => [basename(file), text])
        return { contents: JSON.stringify(Object.fromEntries(files)), loader: 'json' }
      } catch (error) {
        const { errors } = error as BuildFailure
        if (!Array.isArray(errors)) throw error
        return { errors }
      }
    })
  },
})

const optionsFor = (path: string, absWorkingDir: string, read: BuildPlugin) =>
  ({
    entryPoints: [path],
    absWorkingDir,
    outdir: '/out',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    write: false,
    format: 'esm',
    splitting: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'silent',
    // As for plugins: the output must not depend on a tsconfig.json in a parent folder.
    tsconfigRaw: '{}',
    plugins: [read],
  }) satisfies BuildOptions
