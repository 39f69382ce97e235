/** Runs programs as an operator does: without variables of the test runner, of npm, or of
 *  upstreams. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CODE_ENV, MEASURED } from './cache.ts'
import { slowness } from './machine-speed.ts'

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

/** Command without `tap`'s loaders and Node's coverage, which reach every child through its
 *  environment. */
export const plainCommand = (...command: readonly string[]): [string, string[]] => [
  'env',
  ['-u', 'NODE_OPTIONS', '-u', 'NODE_V8_COVERAGE', ...command],
]

/** Time limits between processes of a gateway are not the subject of most tests. They stay shorter
 *  than those that do not scale: a known key is served for 60 s without the store. */
const patience = (least: number): string =>
  `TOLLGATE_PATIENCE=${Math.max(least, Math.min(slowness(), MOST_PATIENT))}`
const MOST_PATIENT = 10

/** Command for a program of this project: with the compile cache, without the test runner's
 *  variables. */
export const cachedCommand = (...args: readonly string[]): [string, string[]] => cached(args, 1)
const cached = (args: readonly string[], least: number): [string, string[]] => {
  const cache = Object.entries(CODE_ENV).map(([name, value]) => `${name}=${value}`)
  return plainCommand(...cache, patience(least), process.execPath, ...args)
}

/** Command for a program whose coverage is measured with the test's. Coverage is coarser with the
 *  compile cache, so that is off. */
export const measuredCommand = (...args: readonly string[]): [string, string[]] =>
  patientCommand(1, ...args)
/** `least`: the least factor of the time limits between processes. */
export const patientCommand = (least: number, ...args: readonly string[]): [string, string[]] => {
  if (!MEASURED) return cached(args, least)
  const variables = [
    `NODE_V8_COVERAGE=${process.env.NODE_V8_COVERAGE}`,
    'NODE_DISABLE_COMPILE_CACHE=1',
    patience(least),
  ]
  return ['env', [...variables, process.execPath, ...args]]
}

/** Starts a program with an IPC channel. `command`: makes its command. */
export const forkProgram = (
  program: URL,
  args: readonly string[] = [],
  {
    stdio = ['inherit', 'inherit', 'inherit', 'ipc'],
    command = cachedCommand,
    ...options
  }: SpawnOptions & { readonly command?: typeof cachedCommand } = {},
): ChildProcess => spawn(...command(fileURLToPath(program), ...args), { ...options, stdio })

/** Messages of a start without the one that only a slow machine prints. */
export const withoutBuilding = (messages: string): string =>
  messages.replace(/^building .* and its plugins; .*\n/m, '')
