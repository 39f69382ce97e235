/** Places in source files are those that Node's own reader of source maps finds. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuildOptions, buildSync } from 'esbuild'
import t, { type Test } from 'tap'
import { readMap, sourceOf } from '../../../../engine/config/plugins/source-maps.ts'

const folder = mkdtempSync(join(tmpdir(), 'source-maps-'))
t.after(() => rmSync(folder, { recursive: true }))

const bundle = (options: BuildOptions): string => {
  const path = join(folder, 'bundle.mjs')
  buildSync({
    entryPoints: [join(import.meta.dirname, '../../../../plugins/limit/index.ts')],
    outfile: path,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    sourcemap: 'external',
    ...options,
  })
  return path
}

/** Compares places of a bundle, `step` columns apart, each by the source that it leads to. */
const compare = (t: Test, path: string, step: number): void => {
  const map = readMap(`${path}.map`)
  const reference = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')))
  const different: string[] = []
  let count = 0
  const lines = readFileSync(path, 'utf8').split('\n')
  for (const [line, text] of lines.entries())
    for (let column = 0; column <= text.length; column += step) {
      const entry = reference.findEntry(line, column)
      // Node goes on to the end of the line before if a line has no mapping so far.
      const isOwn = 'originalSource' in entry && entry.generatedLine === line
      const expected = isOwn
        ? [entry.originalSource, entry.originalLine, entry.originalColumn].join(':')
        : undefined
      const place = sourceOf(map, line, column)
      const own = place && [place.source, place.sourceLine, place.sourceColumn].join(':')
      if (own !== expected) different.push(`${line}:${column}: ${own}, not ${expected}`)
      if (own !== undefined) count++
    }
  t.same(different.slice(0, 3), [])
  t.ok(count > 1_000, `${count} places`)
}

t.test('source maps: places of a bundle with short and with long lines', t => {
  compare(t, bundle({}), 3)
  compare(t, bundle({ minify: true }), 211)
  t.end()
})

t.test('source maps: a mapping without a source, and a line without mappings', t => {
  const path = join(folder, 'made.map')
  // Line 0: column 0 leads to a:0:0, column 4 to no source. Line 1 is empty. Line 2 to a:1:2.
  writeFileSync(path, JSON.stringify({ sources: ['a'], mappings: 'AAAA,I;;EACE' }))
  const map = readMap(path)
  t.match(sourceOf(map, 0, 3), { source: 'a', sourceLine: 0, sourceColumn: 0 })
  t.equal(sourceOf(map, 0, 4), undefined)
  t.equal(sourceOf(map, 1, 0), undefined)
  t.equal(sourceOf(map, 2, 1), undefined)
  t.match(sourceOf(map, 2, 2), { source: 'a', sourceLine: 1, sourceColumn: 2 })
  t.end()
})
