/** Runs many test files in one process: starting a process costs more than most files. Each file
 *  can also be run alone. */
import t from 'tap'
import { testsOf } from './suites.ts'

/** Imports every test of a suite. No test runs before all files are imported: `tap` would
 *  otherwise end the process while a file awaits its gateway. */
export const runSuite = (name: string, group: 'npm' | 'ci' = 'npm'): void =>
  t.before(async () => {
    for (const file of testsOf(name, group))
      await import(new URL(`../${file}`, import.meta.url).href)
  })
