/** Runs many test files in one process: starting a process costs more than most files. Each file
 *  can also be run alone. */
import { globSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const tests = fileURLToPath(new URL('..', import.meta.url))
/** Tests whose coverage is not measured: it would double their cost and add no covered line. */
export const UNMEASURED = [
  'engine/{quota,request}/*.property.test.ts',
  'engine/processes/builder-client.test.ts',
]
/** Subsystems of the engine, which have suites of their own. */
export const SUBSYSTEMS = ['engine/{cli,config,store}/**']
export const CRASHES = ['engine/store/{on-crash-statements,sqlite/writer-killed}.test.ts']

/** Commands that start gateways of their own or copy whole stores. */
export const COMMANDS = ['engine/cli/{completion,move,restore,setup,test-cases}.test.ts']

/** Tests of money and of crashing stores, which take longest: they run on both databases. */
export const LEDGER = ['plugins/ledger/{,archive/,metering/,views/}*.test.ts']
export const MONEY = ['plugins/{account,credentials,idempotency,notify,webhooks}/*.test.ts']
/** Tests that mostly wait for polls: each of these suites takes a minute, beside others. */
export const TASKS = ['plugins/task/*.test.ts']
export const TASK_ENDPOINTS = ['plugins/task/{calls,copies,midjourney,modes,videos}.test.ts']
export const FILES = ['plugins/{batches,files,file-store}/*.test.ts']
export const PRICES = ['plugins/{billing,limit}/*.test.ts']
/** Tests of formats and of translations between them. */
export const FORMATS = [
  'plugins/{conversion,formats,responses,sandbox,schema,translate}/**/*.test.ts',
  'plugins/catalogue/shipped-*.test.ts',
]

/** Imports every file that matches; patterns are relative to test/. No test runs before all
 *  files are imported: `tap` would otherwise end the process while a file awaits its gateway. */
export const runTests = (patterns: readonly string[], exclude: readonly string[] = []): void =>
  t.before(async () => {
    for (const file of globSync(patterns, { cwd: tests }).sort())
      if (!exclude.some(pattern => matchesGlob(file, pattern)))
        await import(new URL(`../${file}`, import.meta.url).href)
  })
