/** Programs run as an operator runs them: nothing of the test runner about, of npm, or of upstreams that happen to be set. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CODE_ENV, MEASURED } from './cache.ts'

/** The environment of an operator's shell. */
export const operatorEnv = (
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || FOREIGN.test(name) ? [] : [[name, value]],
    ),
  ),
  ...more,
})
const FOREIGN = /^(?:_?TAP|NODE_|npm_|INIT_CWD)|_(?:BASE_URL|API_KEY)$/

/** `tap` puts its loaders, and Node its measuring, into the environment of every child, whatever environment it is given: this
 *  takes them out. */
export const plainly = (...command: readonly string[]): [string, string[]] => [
  'env',
  ['-u', 'NODE_OPTIONS', '-u', 'NODE_V8_COVERAGE', ...command],
]

/** How to start a program of ours: from the cache, with nothing of the test runner about. */
export const swiftly = (...args: readonly string[]): [string, string[]] => {
  const cache = Object.entries(CODE_ENV).map(([name, value]) => `${name}=${value}`)
  return plainly(...cache, process.execPath, ...args)
}

/** How to start one whose coverage is measured with the test's.
 *  Coverage is coarser where compiled code comes from a cache. */
export const measured = (...args: readonly string[]): [string, string[]] =>
  MEASURED ? ['env', ['NODE_DISABLE_COMPILE_CACHE=1', process.execPath, ...args]] : swiftly(...args)

/** A process that is spoken to. */
export const forkSwiftly = (
  program: URL,
  args: readonly string[] = [],
  { stdio = ['inherit', 'inherit', 'inherit', 'ipc'], ...options }: SpawnOptions = {},
): ChildProcess => spawn(...swiftly(fileURLToPath(program), ...args), { ...options, stdio })
