/** What the gateways of tests share, as those of one data folder do: bundled plugins and compiled code. */
import './environment.ts'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Of this copy of the project. */
export const CACHE = fileURLToPath(new URL('../../.tap/cache', import.meta.url))

/** Whether the coverage of this test is measured. */
export const MEASURED = process.env.NODE_V8_COVERAGE !== undefined

/** Compiled code is shared by all of them, and by the tests. */
export const CODE_ENV: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: join(CACHE, 'code'),
  NODE_COMPILE_CACHE_PORTABLE: '1',
}

/** A data folder like one that was used before: it has them. */
export const usedFolder = (path: string): string => {
  mkdirSync(CACHE, { recursive: true })
  mkdirSync(path, { recursive: true })
  symlinkSync(CACHE, join(path, 'cache'))
  return path
}
