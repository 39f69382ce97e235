/** The cache that the gateways of all tests share, as processes of one data folder do: bundled
 *  plugins and compiled code. */
import './environment.ts'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The cache folder of this checkout. */
export const CACHE = fileURLToPath(new URL('../../.tap/cache', import.meta.url))

/** Whether coverage of this test is measured. */
export const MEASURED = process.env.NODE_V8_COVERAGE !== undefined

/** Environment for the compile cache that gateways and tests share. */
export const CODE_ENV: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: join(CACHE, 'code'),
  NODE_COMPILE_CACHE_PORTABLE: '1',
}

/** Makes a data folder that holds the shared cache, as if a gateway had used it before. */
export const usedFolder = (path: string): string => {
  mkdirSync(CACHE, { recursive: true })
  mkdirSync(path, { recursive: true })
  if (!existsSync(join(path, 'cache'))) symlinkSync(CACHE, join(path, 'cache'))
  return path
}
