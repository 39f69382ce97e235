/** `npm test`: runs test files, each in its own process, several at a time, and prints TAP: one
 *  line for a file that passes, the whole output of a file that fails. */
import './helpers/environment.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FAULTS, FILES, GROUPS, groupOf, inOrder, isLeftToCi } from './groups.ts'
import { CODE_ENV } from './helpers/cache.ts'
import { scaled, slowness } from './helpers/machine-speed.ts'
import { COVERAGE, isMeasured } from './laws/covered.ts'

interface FileResult {
  readonly file: string
  readonly output: string
  readonly hasPassed: boolean
  readonly milliseconds: number
  /** CPU seconds of its process tree, without processes that outlived it; 0 where unknown. */
  readonly cpu: number
}
interface Run {
  readonly environment: NodeJS.ProcessEnv
  readonly seconds: number
  readonly measuresCoverage: boolean
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Seconds after its own time limit until a test file is killed. */
const GRACE = 60
const TICKS = 100
/** Tests allocate much and retain little: a large young generation, collected without helper
 *  threads, halves the cost of garbage collection. */
const FLAGS = ['--min-semi-space-size=32', '--max-semi-space-size=64', '--single-threaded-gc']

/** The summary at the end of a test file: `# { total: 9, pass: 8, skip: 1 }`. */
const COUNTS = /^# \{ (total: \d+.*) \}$/m
export const countsIn = (output: string): Map<string, number> =>
  new Map(
    (COUNTS.exec(output)?.[1] ?? '').split(', ').flatMap(each => {
      const [, name, count] = /^(\w+): (\d+)$/.exec(each) ?? []
      return name === undefined ? [] : [[name, Number(count)] as const]
    }),
  )

/** Test files wait for much of their time; on a slow machine they compute for more of it. */
const usualJobs = (): number => {
  const cores = availableParallelism()
  return Math.max(cores, Math.ceil((cores * 3.5) / Math.sqrt(slowness())))
}

/** CPU seconds of all children that have ended, with their descendants. */
const readChildCpu = (): number => {
  try {
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ')
    const [user, system] = fields.split(' ').slice(13, 15)
    return (Number(user) + Number(system)) / TICKS
  } catch {
    return 0
  }
}

/** Measures the CPU seconds of each child: when a child ends, the sum grows by its CPU time. */
const createCpuClock = (): (() => number) => {
  let last = readChildCpu()
  return () => {
    const before = last
    last = readChildCpu()
    return last - before
  }
}

const runFile = async (file: string, run: Run, lap: () => number): Promise<FileResult> => {
  // The compile cache makes coverage coarser.
  const more = run.measuresCoverage && isMeasured(file) ? { NODE_V8_COVERAGE: COVERAGE } : CODE_ENV
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...FLAGS, '--import=./test/helpers/code.ts', file], {
    cwd: ROOT,
    env: { ...run.environment, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit').then(([code]) => [code, lap()] as const)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const killTimer = setTimeout(() => child.kill('SIGKILL'), (run.seconds + GRACE) * 1_000)
  await once(child, 'close')
  clearTimeout(killTimer)
  const [code, cpu] = await exit
  // Without a summary the file ended early.
  const hasPassed = code === 0 && countsIn(output).size > 0
  return { file, output, hasPassed, cpu, milliseconds: performance.now() - startedAt }
}

const printResult = (
  { file, output, hasPassed, milliseconds, cpu }: FileResult,
  number: number,
  whole: boolean,
) => {
  if (whole || !hasPassed) {
    const lines = output.replace(/^TAP version 14\n/, '').trimEnd()
    console.log(`# Subtest: ${file}\n${lines.replace(/^(?=.)/gm, '    ')}`)
  }
  const verdict = hasPassed ? 'ok' : 'not ok'
  console.log(
    `${verdict} ${number} - ${file} # time=${Math.round(milliseconds)}ms, CPU ${cpu.toFixed(1)} s`,
  )
}

const printSummary = (results: readonly FileResult[], milliseconds: number): void => {
  const sums = new Map<string, number>()
  for (const { output, hasPassed } of results) {
    const counts = countsIn(output)
    for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
    // A process that ended early counts as one failure.
    if (!hasPassed && !counts.get('fail')) sums.set('fail', (sums.get('fail') ?? 0) + 1)
  }
  console.log(`1..${results.length}`)
  const cpuOf = (files: readonly FileResult[]): number =>
    Math.round(files.reduce((sum, { cpu }) => sum + cpu, 0))
  for (const [name, files] of Map.groupBy(results, ({ file }) => groupOf(file))) {
    const cpu = cpuOf(files)
    console.log(`# ${name}: CPU ${cpu} s, at best ${Math.round(cpu / 2)} s on two cores`)
  }
  console.log(
    `# CPU ${cpuOf(results)} s in all; deadlines were ${slowness()} times as long as on an idle machine`,
  )
  console.log(`# { ${[...sums].map(([name, count]) => `${name}: ${count}`).join(', ')} }`)
  console.log(`# time=${Math.round(milliseconds)}ms`)
}

/** The test files of these paths, folders or patterns; without any those of `group`, or all that
 *  are not left to CI, and in the long form all. */
const filesOf = (paths: readonly string[], isLong: boolean, group?: string): string[] => {
  const patterns = paths.map(each =>
    statSync(each, { throwIfNoEntry: false })?.isDirectory() ? `${each}/**/*.test.ts` : each,
  )
  const faults = group === 'faults' ? Object.values(FAULTS).flat() : undefined
  const matches = globSync(paths.length > 0 ? patterns : (faults ?? FILES), { cwd: ROOT })
  const files = inOrder(matches.map(file => file.replaceAll('\\', '/')))
  if (paths.length > 0 || faults) return files
  if (group === 'ci') return files.filter(isLeftToCi)
  const own = isLong ? files : files.filter(file => !isLeftToCi(file))
  return group === undefined ? own : own.filter(file => groupOf(file) === group)
}

const runAll = async (files: readonly string[], jobs: number, run: Run): Promise<FileResult[]> => {
  const [results, lap, waiting]: [FileResult[], () => number, string[]] = [
    [],
    createCpuClock(),
    [...files],
  ]
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file, run, lap)
      results.push(result)
      printResult(result, results.length, files.length === 1)
    }
  }
  await Promise.all(Array.from({ length: jobs }, lane))
  return results
}

const main = async (): Promise<boolean> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { long: { type: 'boolean' }, jobs: { type: 'string' }, group: { type: 'string' } },
  })
  if (values.group !== undefined && !GROUPS.includes(values.group)) {
    console.log(
      `Bail out! There is no group "${values.group}"; the groups are ${GROUPS.join(', ')}`,
    )
    return false
  }
  const seconds = values.long ? 3_600 : scaled(900)
  const long = values.long ? { LONG: '1' } : {}
  // CI measures the coverage of `npm test` and of the files left to CI together: a fifth more
  // time.
  const isWhole = values.group === undefined || values.group === 'ci'
  const measuresCoverage =
    positionals.length === 0 && !values.long && isWhole && process.env.COVERAGE !== undefined
  if (measuresCoverage && values.group === undefined)
    rmSync(COVERAGE, { recursive: true, force: true })
  mkdirSync(COVERAGE, { recursive: true })
  const files = filesOf(positionals, values.long === true, values.group)
  const startedAt = performance.now()
  console.log('TAP version 14')
  const environment = { ...process.env, TAP_TIMEOUT: String(seconds), ...long }
  const jobs = Number(values.jobs ?? usualJobs())
  const results = await runAll(files, jobs, { environment, seconds, measuresCoverage })
  printSummary(results, performance.now() - startedAt)
  return results.length > 0 && results.every(({ hasPassed }) => hasPassed)
}

if (import.meta.main) process.exitCode = (await main()) ? 0 : 1
