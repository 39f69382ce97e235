/** Watches real files; a test acts and then reads the reported changes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Watch, watchedPaths, watchFiles } from '../../engine/config/watch.ts'

/** Ten times the length of a burst. */
const PATIENCE = 20_000

interface WatchedFolder {
  readonly folder: string
  readonly watch: Watch
  /** Resolves when a change is reported after `act`. */
  told(act: () => void): Promise<void>
  /** Number of reported changes. */
  count(): number
}
/** Starts a watch; resolves after its first scan. */
export const watched = async (
  t: Test,
  files: Record<string, unknown>,
  paths = ['routes.yaml'],
): Promise<WatchedFolder> => {
  const folder = t.testdir(files as Parameters<Test['testdir']>[0])
  return settled(t, folder, paths)
}
export const settled = async (
  t: Test,
  folder: string,
  paths: readonly string[],
): Promise<WatchedFolder> => {
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
  const nextChange = async (act: () => void) => {
    const next = Promise.withResolvers<void>()
    wake = next.resolve
    act()
    await within(next.promise)
  }
  return { folder, watch, told: nextChange, count: () => count }
}
/** Runs `act`, then makes a change that must be reported; returns how many reports came before
 *  it. */
export const untold = async (
  { told, count, folder }: WatchedFolder,
  act: () => void,
): Promise<number> => {
  const before = count()
  act()
  // Longer than any burst: a wrong report would have come.
  await new Promise(resolve => setTimeout(resolve, 300))
  const wrong = count() - before
  await told(() => writeFileSync(join(folder, 'routes.yaml'), `${before} ${Math.random()}`))
  return wrong
}
