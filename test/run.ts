/** `npm test`: runs test files, each in a plain process of its own, several at a time, and prints TAP. A file that passes is a
 *  line, one that fails is shown whole. */
import './helpers/environment.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CODE_ENV } from './helpers/cache.ts'
import { judgeCoverage } from './laws/coverage.ts'
import { COVERAGE, isMeasured } from './laws/covered.ts'
import { FAULTS, FILES, inOrder, SHARES, shareOf } from './shares.ts'

interface Ended {
  readonly file: string
  readonly output: string
  readonly passed: boolean
  readonly milliseconds: number
  /** Seconds of its tree, without what it left to others by dying first; 0 where that is not known. */
  readonly cpu: number
}
interface Run {
  readonly environment: NodeJS.ProcessEnv
  readonly seconds: number
  readonly measured: boolean
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** One that does not end by itself a minute after its own limit is ended. */
const GRACE = 60
const TICKS = 100
/** A test makes much and keeps little: with room for it, and without threads that help, collecting costs half. */
const FLAGS = ['--min-semi-space-size=32', '--max-semi-space-size=64', '--single-threaded-gc']

/** What a test file says of itself when it is over: `# { total: 9, pass: 8, skip: 1 }`. */
const COUNTS = /^# \{ (total: \d+.*) \}$/m
export const countsIn = (output: string): Map<string, number> =>
  new Map(
    (COUNTS.exec(output)?.[1] ?? '').split(', ').flatMap(each => {
      const [, name, count] = /^(\w+): (\d+)$/.exec(each) ?? []
      return name === undefined ? [] : [[name, Number(count)] as const]
    }),
  )

/** CPU seconds of all children that have ended, with theirs. */
const spent = (): number => {
  try {
    const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ')
    const [user, system] = fields.split(' ').slice(13, 15)
    return (Number(user) + Number(system)) / TICKS
  } catch {
    return 0
  }
}

/** How each child's CPU is told from the others': the sum grows when one is gone, by what it has used. */
const clock = (): (() => number) => {
  let last = spent()
  return () => {
    const before = last
    last = spent()
    return last - before
  }
}

const runFile = async (file: string, run: Run, lap: () => number): Promise<Ended> => {
  // From the cache, unless that makes coverage coarser.
  const more = run.measured && isMeasured(file) ? { NODE_V8_COVERAGE: COVERAGE } : CODE_ENV
  const begun = performance.now()
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
  const late = setTimeout(() => child.kill('SIGKILL'), (run.seconds + GRACE) * 1_000)
  await once(child, 'close')
  clearTimeout(late)
  const [code, cpu] = await exit
  // Without its count it was not asked everything.
  const passed = code === 0 && countsIn(output).size > 0
  return { file, output, passed, cpu, milliseconds: performance.now() - begun }
}

const show = (
  { file, output, passed, milliseconds, cpu }: Ended,
  number: number,
  whole: boolean,
) => {
  if (whole || !passed) {
    const lines = output.replace(/^TAP version 14\n/, '').trimEnd()
    console.log(`# Subtest: ${file}\n${lines.replace(/^(?=.)/gm, '    ')}`)
  }
  const verdict = passed ? 'ok' : 'not ok'
  console.log(
    `${verdict} ${number} - ${file} # time=${Math.round(milliseconds)}ms, CPU ${cpu.toFixed(1)} s`,
  )
}

const summary = (ended: readonly Ended[], milliseconds: number): void => {
  const sums = new Map<string, number>()
  for (const { output, passed } of ended) {
    const counts = countsIn(output)
    for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
    // A process that broke off fails once, whatever it counted.
    if (!passed && !counts.get('fail')) sums.set('fail', (sums.get('fail') ?? 0) + 1)
  }
  console.log(`1..${ended.length}`)
  for (const [name, files] of Map.groupBy(ended, ({ file }) => shareOf(file))) {
    const cpu = files.reduce((sum, file) => sum + file.cpu, 0)
    console.log(
      `# ${name}: CPU ${Math.round(cpu)} s, at best ${Math.round(cpu / 2)} s on two cores`,
    )
  }
  console.log(`# { ${[...sums].map(([name, count]) => `${name}: ${count}`).join(', ')} }`)
  console.log(`# time=${Math.round(milliseconds)}ms`)
}

/** The files of these arguments: paths, folders, patterns; all of them without any. Only those of `share`, if one is named. */
const filesOf = (wanted: readonly string[], share?: string): string[] => {
  const patterns = wanted.map(each =>
    statSync(each, { throwIfNoEntry: false })?.isDirectory() ? `${each}/**/*.test.ts` : each,
  )
  const faults = share === 'faults'
  const all = faults ? Object.values(FAULTS).flat() : FILES
  const found = globSync(wanted.length > 0 ? patterns : all, { cwd: ROOT })
  const files = found.map(file => file.replaceAll('\\', '/'))
  const whole = share === undefined || faults
  return inOrder(whole ? files : files.filter(file => shareOf(file) === share))
}

const runAll = async (files: readonly string[], jobs: number, run: Run): Promise<Ended[]> => {
  const [ended, lap, waiting]: [Ended[], () => number, string[]] = [[], clock(), [...files]]
  const lane = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file, run, lap)
      ended.push(result)
      show(result, ended.length, files.length === 1)
    }
  }
  await Promise.all(Array.from({ length: jobs }, lane))
  return ended
}

const main = async (): Promise<boolean> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { long: { type: 'boolean' }, jobs: { type: 'string' }, share: { type: 'string' } },
  })
  if (values.share !== undefined && !SHARES.includes(values.share)) {
    console.log(`Bail out! There is no share ${values.share}; the shares are ${SHARES.join(', ')}`)
    return false
  }
  const seconds = values.long ? 3_600 : 300
  const long = values.long ? { LONG: '1' } : {}
  // One share does not run the whole engine: its coverage says nothing.
  const measured = positionals.length === 0 && !values.long && values.share === undefined
  if (measured) rmSync(COVERAGE, { recursive: true, force: true })
  mkdirSync(COVERAGE, { recursive: true })
  const files = filesOf(positionals, values.share)
  const begun = performance.now()
  console.log('TAP version 14')
  const environment = { ...process.env, TAP_TIMEOUT: String(seconds), ...long }
  // Most wait for much of their time.
  const jobs = Number(values.jobs ?? Math.ceil(availableParallelism() * 2.5))
  const ended = await runAll(files, jobs, { environment, seconds, measured })
  summary(ended, performance.now() - begun)
  if (ended.length === 0 || ended.some(({ passed }) => !passed)) return false
  return !measured || judgeCoverage()
}

if (import.meta.main) process.exitCode = (await main()) ? 0 : 1
