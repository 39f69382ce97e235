/** The coverage of bundled plugins: a bundle without white space has many source lines in one of
 *  its own. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { branchesOf } from './branches.ts'
import { addBundle, type FileRun, readBundle } from './bundles.ts'

const SOURCE = `export const called = () => {
  return 1
}
export const unused = () => {
  return 2
}
`

t.test('coverage of bundles: each line of a source is judged by itself', async t => {
  const folder = t.testdir({ 'source.js': SOURCE })
  const source = join(folder, 'source.js')
  const path = join(folder, 'bundle.mjs')
  await build({
    entryPoints: [source],
    outfile: path,
    bundle: true,
    format: 'esm',
    minifyWhitespace: true,
    sourcemap: 'external',
  })
  const lines = SOURCE.split('\n')
  const file: FileRun = {
    text: SOURCE,
    branches: branchesOf(source, SOURCE),
    linesRun: lines.map(() => false),
    branchesRun: [],
  }
  const bundle = readBundle(path, new Map([[source, file]]))
  if (!bundle) throw new Error('the bundle has no map')
  const text = readFileSync(path, 'utf8')
  const [startOffset, endOffset] = [text.indexOf('{return 2'), text.indexOf('};export') + 1]
  addBundle(bundle, {
    url: `file://${path}`,
    functions: [
      { ranges: [{ startOffset: 0, endOffset: text.length, count: 1 }] },
      { ranges: [{ startOffset, endOffset, count: 0 }] },
    ],
  })
  t.ok(file.linesRun[1], 'the function that was called')
  t.notOk(file.linesRun[4], 'the function that was not called')
})
