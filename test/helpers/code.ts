/** Loaded before a test file: compiled code comes from the cache that its gateways share, unless
 *  coverage is measured; and nobody follows each promise of it. */
import './environment.ts'
import hooks from 'node:async_hooks'
import { enableCompileCache, syncBuiltinESMExports } from 'node:module'
import { CODE_ENV, MEASURED } from './cache.ts'

if (!MEASURED) {
  Object.assign(process.env, CODE_ENV)
  enableCompileCache(CODE_ENV.NODE_COMPILE_CACHE)
}

// `tap` does, to know whose test threw where nobody caught: a tenth of the CPU of every test, in
// promises that are collected late. Without it such an error ends the process, which fails as a
// whole and shows where.
const none = { enable: () => none, disable: () => none }
hooks.createHook = () => none
syncBuiltinESMExports()
