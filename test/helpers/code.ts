/** Loaded before a test file: takes compiled code from the cache that its gateways share, unless
 *  coverage is measured, and loads `tap` without domains. */
import './environment.ts'
import { enableCompileCache, registerHooks } from 'node:module'
import { CODE_ENV, MEASURED } from './cache.ts'

if (!MEASURED) {
  Object.assign(process.env, CODE_ENV)
  enableCompileCache(CODE_ENV.NODE_COMPILE_CACHE)
}

const { href } = new URL('./no-domain.ts', import.meta.url)
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain'
      ? { url: href, shortCircuit: true }
      : next(specifier, context),
})
