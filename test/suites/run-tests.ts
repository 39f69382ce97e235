/** Runs many test files in one process: starting a process costs more than most files. Each file
 *  can also be run alone. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { scaled } from '../helpers/machine-speed.ts'
import { testsOf } from './suites.ts'

/** ms after which a file that is still imported is named. */
const PATIENCE = scaled(120_000)

/** Imports every test of a suite. No test runs before all files are imported: `tap` would
 *  otherwise end the process while a file awaits its gateway. */
export const runSuite = (name: string, group: 'npm' | 'ci' = 'npm'): void =>
  t.before(async () => {
    for (const file of testsOf(name, group)) {
      // A file that waits for a gateway which never serves would end the suite without its name.
      const late = setTimeout(() => t.comment(`${file} is not imported yet`), PATIENCE)
      const before = { ...process.env }
      await import(new URL(`../${file}`, import.meta.url).href)
      clearTimeout(late)
      // The tests of all other files would run with it.
      if (!isDeepStrictEqual(before, { ...process.env }))
        throw new Error(`${file} changes the environment outside of its tests`)
    }
  })
