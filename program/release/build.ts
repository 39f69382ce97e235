/** Builds dist/ of the package (`npm pack` runs it): the program as JavaScript in the same folders,
 *  the types of what plugins import, and the files that `tollgate:` names. Node reads no TypeScript
 *  below node_modules. `node program/release/build.ts [FOLDER]`: the folder that gets dist/. */
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { browserPrograms } from '../../engine/config/plugins/browser-program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLIENT = 'plugins/console/client'
/** Files beside the code, at the same paths in dist/. */
const PLAIN_FILES = [
  'engine/config/plugins/load-script.cjs',
  'plugins/shipped.json',
  'routes.yaml',
  'program/config',
  'models',
  'schemas',
  'program/commands/**/*.yaml',
]

const main = async (folder: string): Promise<void> => {
  const dist = join(folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  const sources = globSync('{engine,plugins,program}/**/*.ts', { cwd: ROOT }).filter(
    path =>
      !path.startsWith(CLIENT) && !path.startsWith('program/release/') && !path.endsWith('.d.ts'),
  )
  await compile(sources, dist)
  await bundleClient(dist)
  emitTypes(dist)
  for (const path of globSync(PLAIN_FILES, { cwd: ROOT }))
    cpSync(join(ROOT, path), join(dist, path), { recursive: true })
  const { name, version, type } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ name, version, type })}\n`)
}

/** One file for each source, so that processes find each other's programs by the same paths. */
const compile = async (sources: readonly string[], dist: string): Promise<void> => {
  const { outputFiles } = await build({
    entryPoints: sources.map(path => join(ROOT, path)),
    outbase: ROOT,
    outdir: dist,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    legalComments: 'none',
    logLevel: 'warning',
    tsconfigRaw: '{ "compilerOptions": { "verbatimModuleSyntax": true } }',
  })
  for (const { path, text } of outputFiles) write(path, withJavaScriptPaths(text))
}
/** `./x.ts` becomes `./x.js`: in imports, and in URLs of programs that a process starts. */
const withJavaScriptPaths = (code: string): string =>
  code
    .replaceAll(/(["'`])(\.{1,2}\/[^"'`\n]*)\.ts\1/g, '$1$2.js$1')
    .replaceAll('"./client/main.tsx?browser"', '"./client.js"')

/** The console's files for browsers, as the module that the plugin imports. */
const bundleClient = async (dist: string): Promise<void> => {
  await build({
    stdin: {
      contents: "export { default } from './main.tsx?browser'",
      resolveDir: join(ROOT, CLIENT),
    },
    absWorkingDir: ROOT,
    outfile: join(dist, 'plugins/console/client.js'),
    bundle: true,
    format: 'esm',
    logLevel: 'warning',
    tsconfigRaw: '{}',
    plugins: [browserPrograms({ name: 'files', setup() {} })],
  })
}

const emitTypes = (dist: string): void => {
  const package_ = createRequire(import.meta.url).resolve('typescript/package.json')
  const tsc = join(dirname(package_), 'bin/tsc')
  const args = [tsc, '-p', join(ROOT, 'program/release'), '--outDir', dist]
  execFileSync(process.execPath, args, { stdio: 'inherit' })
  for (const path of globSync('**/*.d.ts', { cwd: dist })) {
    const file = join(dist, path)
    writeFileSync(file, withJavaScriptPaths(readFileSync(file, 'utf8')))
  }
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

await main(resolve(process.argv[2] ?? ROOT))
