/** Runs every test file of a folder in this one process. Each can also be run alone; together they share the start of a
 *  process, which costs more than most of them do. */
import { globSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const tests = fileURLToPath(new URL('..', import.meta.url))
/** Under measurement they cost twice as much, and cover nothing that others do not. */
export const DEAR = [
  'engine/{quota,request}/*.property.test.ts',
  'engine/processes/builder-client.test.ts',
]
/** Subsystems of the engine, which have processes of their own. */
export const SUBSYSTEMS = ['engine/{cli,config,store}/**']
export const DYING = ['engine/store/{wills,sqlite/writer-killed}.test.ts']

/** What has to do with money, and with stores that die: on both engines, so it takes the longest. */
export const LEDGER = ['plugins/ledger/*.test.ts']
export const MONEY = ['plugins/{account,credentials,idempotency,notify,webhooks}/*.test.ts']
export const PRICES = ['plugins/{billing,limit}/*.test.ts']
/** What formats are, and what becomes of a call between two of them. */
export const FORMATS = [
  'plugins/{conversion,formats,responses,sandbox,schema,translate}/**/*.test.ts',
  'plugins/catalogue/shipped-*.test.ts',
]

/** Imports every file that matches; patterns are relative to test/. No test runs before all files are
 *  imported: `tap` would otherwise end the process while a file awaits its gateway. */
export const allOf = (patterns: readonly string[], without: readonly string[] = []): void =>
  t.before(async () => {
    for (const file of globSync(patterns, { cwd: tests }).sort())
      if (!without.some(pattern => matchesGlob(file, pattern)))
        await import(new URL(`../${file}`, import.meta.url).href)
  })
