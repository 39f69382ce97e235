/** Loaded before a test file: compiled code comes from the cache that its gateways share, unless coverage is measured. */
import { enableCompileCache } from 'node:module'
import { CODE_ENV, MEASURED } from './cache.ts'

if (!MEASURED) {
  Object.assign(process.env, CODE_ENV)
  enableCompileCache(CODE_ENV.NODE_COMPILE_CACHE)
}
