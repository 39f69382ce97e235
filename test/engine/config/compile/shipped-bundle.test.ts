/** The script of the shipped plugins: what it exports, and the hash of each plugin. */
import { readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { digest } from '../../../../engine/config/plugins/bundle-cache.ts'
import { shippedInput, writeShipped } from '../../../../engine/config/plugins/shipped-bundle.ts'

const require = createRequire(import.meta.url)
const SOURCES: Readonly<Record<string, string>> = {
  'one.ts': "import { word } from './shared.ts'\nexport default { schema: {}, setup: () => word }",
  'two.ts': 'const plugin = { schema: {}, setup() {} }\nexport { plugin as default }',
  'shared.ts': "import { sep } from 'node:path'\nexport const word = `shared${sep}`",
}

t.test('shipped plugins: one script, and a hash of what each imports', async t => {
  const folder = t.testdir({ plugins: { ...SOURCES }, cache: {} })
  const [plugins, cache] = [join(folder, 'plugins'), join(folder, 'cache')]
  const pathOf = (file: string) => join(plugins, file)
  const entries = Object.keys(SOURCES).map(file => ({
    name: file.replace('.ts', ''),
    path: pathOf(file),
    file,
    isShipped: true,
  }))
  const bundleAll = async (texts: Readonly<Record<string, string>>) => {
    for (const [file, text] of Object.entries(texts)) writeFileSync(pathOf(file), text)
    const sources = Object.fromEntries(
      Object.entries(texts).map(([file, text]) => [
        pathOf(file),
        { hash: digest(text), stamp: '' },
      ]),
    )
    const options = { outdir: cache, absWorkingDir: cache, bundle: true, platform: 'node' } as const
    const input = shippedInput(entries)
    const result = await build({ ...options, ...input, write: false, metafile: true })
    const candidates = writeShipped(entries, result, sources, cache)
    return candidates.map(({ bundle }) => bundle)
  }
  const [one, two, shared] = await bundleAll(SOURCES)
  t.equal(shared, undefined, 'a file without a default export is not a plugin')
  t.equal(one?.bundle, two?.bundle)
  const script = require(one?.bundle ?? '')
  t.same([script.one.setup(), typeof script.two.setup], ['shared/', 'function'])

  const edited = { ...SOURCES, 'shared.ts': "export const word = 'edited'" }
  const [changed, same] = await bundleAll(edited)
  t.not(changed?.hash, one?.hash)
  t.equal(same?.hash, two?.hash, 'it imports nothing that was edited')
  t.not(changed?.bundle, one?.bundle)
  await bundleAll(edited)
  t.equal(readdirSync(cache).length, 2, 'the same script is written once')
})
