/** A watch over real files that has settled, and how to say what it tells. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Watch, watchedPaths, watchFiles } from '../../engine/config/watch.ts'

/** Ten times what a burst may take. */
const PATIENCE = 20_000

interface Watched {
  readonly folder: string
  readonly watch: Watch
  /** Resolves when a change was told after `act`. */
  told(act: () => void): Promise<void>
  /** How often one was told so far. */
  count(): number
}
/** A watch that has settled: its first looks are behind it. */
export const watched = async (
  t: Test,
  files: Record<string, unknown>,
  paths = ['routes.yaml'],
): Promise<Watched> => {
  const folder = t.testdir(files as Parameters<Test['testdir']>[0])
  return settled(t, folder, paths)
}
export const settled = async (
  t: Test,
  folder: string,
  paths: readonly string[],
): Promise<Watched> => {
  let count = 0
  let wake = () => {}
  const first = Promise.withResolvers<void>()
  wake = first.resolve
  const places = watchedPaths(paths.map(path => join(folder, path)))
  const watch = watchFiles({
    places,
    onChange: () => {
      count++
      wake()
    },
  })
  t.teardown(() => watch.close())
  const within = (promise: Promise<void>) => {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error('no change was told')), PATIENCE)
    return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
  }
  await within(first.promise)
  const told = async (act: () => void) => {
    const next = Promise.withResolvers<void>()
    wake = next.resolve
    act()
    await within(next.promise)
  }
  return { folder, watch, told, count: () => count }
}
/** What is told next is the last of these changes: everything before it was not told. */
export const untold = async (
  { told, count, folder }: Watched,
  act: () => void,
): Promise<number> => {
  const before = count()
  act()
  // Longer than any burst: a wrong call would have come.
  await new Promise(resolve => setTimeout(resolve, 300))
  const wrong = count() - before
  await told(() => writeFileSync(join(folder, 'routes.yaml'), `${before} ${Math.random()}`))
  return wrong
}
