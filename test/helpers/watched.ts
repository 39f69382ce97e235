/** A watch of real files, and functions that wait for its reports. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Watch, watchFiles } from '../../engine/config/watch.ts'
import { findWatchedPaths } from '../../engine/config/watched-paths.ts'

/** ms: a hundred times the longest burst. */
const TIMEOUT = 20_000

interface TestWatch {
  readonly folder: string
  readonly watch: Watch
  /** Calls `act` and resolves at the next report of a change. */
  waitForChange(act: () => void): Promise<void>
  /** Number of reports so far. */
  count(): number
}
/** A watch of `paths` in a folder with `files`, after its first report. */
export const watchFolder = async (
  t: Test,
  files: Record<string, unknown>,
  paths = ['routes.yaml'],
): Promise<TestWatch> => {
  const folder = t.testdir(files as Parameters<Test['testdir']>[0])
  return startWatch(t, folder, paths)
}
export const startWatch = async (
  t: Test,
  folder: string,
  paths: readonly string[],
): Promise<TestWatch> => {
  let count = 0
  let wake = () => {}
  const first = Promise.withResolvers<void>()
  wake = first.resolve
  const places = findWatchedPaths(paths.map(path => join(folder, path)))
  const watch = watchFiles({
    places,
    onChange: () => {
      count++
      wake()
    },
  })
  t.teardown(() => watch.close())
  const within = (promise: Promise<void>) => {
    const timeout = Promise.withResolvers<never>()
    const timer = setTimeout(() => timeout.reject(new Error('no change was reported')), TIMEOUT)
    return Promise.race([promise, timeout.promise]).finally(() => clearTimeout(timer))
  }
  await within(first.promise)
  const waitForChange = async (act: () => void) => {
    const next = Promise.withResolvers<void>()
    wake = next.resolve
    act()
    await within(next.promise)
  }
  return { folder, watch, waitForChange, count: () => count }
}
/** Calls `act` and counts the reports that follow. Then changes routes.yaml and waits for its
 *  report, so that a late report is counted in no other test. */
export const countChanges = async (
  { waitForChange, count, folder }: TestWatch,
  act: () => void,
): Promise<number> => {
  const before = count()
  act()
  // Longer than any burst: a report of `act` comes before.
  await new Promise(resolve => setTimeout(resolve, 300))
  const changes = count() - before
  await waitForChange(() =>
    writeFileSync(join(folder, 'routes.yaml'), `${before} ${Math.random()}`),
  )
  return changes
}
