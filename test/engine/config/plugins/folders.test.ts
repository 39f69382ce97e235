/** Plugins of several files: a folder with an index, its name, its files and its watched paths. */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { type BundledPlugins, bundlePlugins } from '../../../../engine/config/plugins/bundle.ts'
import { readCached, writeCached } from '../../../../engine/config/plugins/bundle-cache.ts'
import { entriesIn, indexPaths } from '../../../../engine/config/plugins/plugin-files.ts'
import { PROGRAM, shippedNames } from '../../../../engine/config/plugins/program.ts'
import { useShippedPlugins } from '../../../helpers/environment.ts'

const PLUGIN = 'export default { schema: {}, setup: () => ({ answers: true }) }\n'
/** Bundles `plugins/` of a folder with `files`. */
const bundleFiles = async (t: Test, files: Record<string, unknown>): Promise<BundledPlugins> => {
  t.testdir({ ...files, cache: {} } as Parameters<Test['testdir']>[0])
  return bundlePlugins(['plugins'], t.testdirName, join(t.testdirName, 'cache'))
}

t.test('a plugin folder: NAME/index.ts with a default export is the plugin NAME', async t => {
  const { bundles, problems, inputs } = await bundleFiles(t, {
    plugins: {
      'one.ts': PLUGIN,
      two: {
        'index.ts': "import { text } from './part.ts'\nexport default { schema: {}, text }\n",
        'part.ts': "export const text = 'from a part'\n",
      },
      three: { 'index.js': PLUGIN },
      shared: { 'index.ts': 'export const word = 1\n' },
      Shared_Parts: { 'index.ts': 'export const word = 2\n' },
      timeout: { 'index.ts': 'export const word = 3\n' },
      _draft: { 'index.ts': PLUGIN },
      node_modules: { 'index.js': PLUGIN },
    },
  })
  t.same(problems, [])
  t.same(
    bundles.map(({ name, file }) => `${name} ${file}`),
    ['one plugins/one.ts', 'three plugins/three/index.js', 'two plugins/two/index.ts'],
  )
  const two = bundles.find(({ name }) => name === 'two')
  t.match(two && (await import(two.bundle)), { default: { text: 'from a part' } })
  t.ok(inputs.includes(join(t.testdirName, 'plugins/two/part.ts')), 'its parts are watched')
})

t.test('a plugin folder: its name follows the rules for files and is unique', async t => {
  const bundleResult = await bundleFiles(t, {
    plugins: {
      'a.ts': PLUGIN,
      a: { 'index.ts': PLUGIN },
      Two: { 'index.ts': PLUGIN },
      timeout: { 'index.ts': PLUGIN },
      bad: { 'index.ts': 'const = 1\n' },
    },
  })
  t.same(
    bundleResult.problems.map(({ file, message, code }) => `${file} ${code} ${message}`),
    [
      'plugins/Two/index.ts PLUGIN_NAME "Two" is not a valid plugin name: use lower-case letters, digits and -, and begin with a letter',
      'plugins/a.ts PLUGIN_NAME "a" is not a valid plugin name: plugins/a/index.ts already has this name',
      'plugins/timeout/index.ts PLUGIN_NAME "timeout" is not a valid plugin name: it is a key of routes',
      'plugins/bad/index.ts PLUGIN_SYNTAX Expected identifier but found "="',
    ],
  )
  t.same(bundleResult.brokenNames, ['bad'])
})

t.test('a plugin folder: a link to the shipped ones is not cached as these are', t => {
  useShippedPlugins(t)
  const root = t.testdir({ cache: {}, plugins: t.fixture('symlink', join(PROGRAM, 'plugins')) })
  const cache = join(root, 'cache')
  const [shipped = [], linked = []] = [PROGRAM, root].map(each => entriesIn('plugins', each))
  const build = { candidates: [], sources: {} }
  writeCached(shipped, cache, '', build)
  t.same(readCached(shipped, cache, ''), build)
  t.match(linked[0], { file: shipped[0]?.file, isShipped: false })
  t.equal(readCached(linked, cache, ''), undefined)
  t.end()
})

t.test('watched paths: include each index that would make a folder a plugin', async t => {
  const root = t.testdir({
    plugins: { 'one.ts': PLUGIN, later: {}, _draft: {}, node_modules: {} },
    more: { two: { 'index.ts': PLUGIN } },
  })
  const places = indexPaths(['plugins', 'more', 'nowhere'], root)
  t.same(
    places.map(path => path.slice(root.length)),
    ['plugins/later', 'more/two'].flatMap(folder =>
      ['index.ts', 'index.js', 'index.mjs'].map(index => `/${folder}/${index}`),
    ),
  )
})

t.test(
  'plugin folders: plugins/shipped.json lists the shipped plugins and their shared code',
  t => {
    const other = ['README.md', 'shipped.json']
    const names = readdirSync(join(PROGRAM, 'plugins'))
      .filter(name => !other.includes(name))
      .map(name => basename(name, '.ts'))
    t.same([...shippedNames()].sort(), names.sort())
    t.end()
  },
)
