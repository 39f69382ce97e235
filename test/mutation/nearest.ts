/** How near a test file is to a source file: by the mirrored path, by the imports of the test and
 *  its helpers, and by name. */
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importsOf } from '../laws/imports.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Tests that run the source unchanged: gateways with bundled plugins judge few mutants. */
const TESTS = [
  'test/engine/**/*.test.ts',
  'test/plugins/{billing,conversion,formats,ledger,limit,schema,translate}/**/*.test.ts',
  'test/journeys/{*,{billed,inside,inside-formats}/*}.test.ts',
]
/** They measure for minutes. */
const EXCLUDED = 'test/journeys/{overload,soak,slow-*,large-uploads,concurrent-streams}.test.ts'
/** Cost of a test that does not import the file. */
const UNRELATED = 8

/** Imports between a test and each file that it loads. */
const distancesFrom = (test: string, edges: ReadonlyMap<string, readonly string[]>) => {
  const distances = new Map([[test, 0]])
  for (const [path, distance] of distances)
    for (const next of edges.get(path) ?? [])
      if (!distances.has(next)) distances.set(next, distance + 1)
  return distances
}
const wordsOf = (path: string): readonly string[] =>
  basename(path)
    .replace(/\.test\.ts$|\.property\.test\.ts$|\.ts$/, '')
    .split(/[-.]/)
const sharedSegments = (a: string, b: string): number => {
  const [first, second] = [dirname(a).split('/'), dirname(b).split('/')]
  const at = first.findIndex((each, index) => each !== second[index])
  return at < 0 ? first.length : at
}

/** Test files that can judge a mutant. */
export const testFiles = (): string[] =>
  TESTS.flatMap(pattern => globSync(pattern, { cwd: ROOT }).sort()).filter(
    path => !matchesGlob(path, EXCLUDED),
  )

/** Milliseconds of a test that weigh as much as one import between it and the source file. */
const MS_PER_IMPORT = 5_000

/** Orders test files by their distance to a source file, nearest first. Of two that are as near,
 *  the faster one comes first. */
export const createOrder = (
  msOf: (test: string) => number = () => 0,
): ((source: string, tests: readonly string[]) => string[]) => {
  const files = globSync('{engine,plugins,program,test}/**/*.ts', { cwd: ROOT })
  const edges = new Map(
    files.map(path => {
      const imports = importsOf({ path, text: readFileSync(`${ROOT}${path}`, 'utf8') })
      return [path, imports.flatMap(each => (each.relative && !each.typeOnly ? each.to : []))]
    }),
  )
  const distances = new Map(testFiles().map(test => [test, distancesFrom(test, edges)]))
  const costOf = (source: string, test: string): number => {
    const words = wordsOf(source)
    const mirrored = test.slice('test/'.length)
    const names = wordsOf(test).filter(word => words.includes(word)).length
    const sameName = wordsOf(test).join() === words.join() ? 2 : 0
    const distance = distances.get(test)?.get(source) ?? UNRELATED
    const nearness = 2 * sharedSegments(mirrored, source) + names + sameName
    return distance - nearness + msOf(test) / MS_PER_IMPORT
  }
  return (source, tests) => {
    const costs = new Map(tests.map(test => [test, costOf(source, test)]))
    return tests.toSorted((a, b) => (costs.get(a) ?? 0) - (costs.get(b) ?? 0) || (a < b ? -1 : 1))
  }
}
