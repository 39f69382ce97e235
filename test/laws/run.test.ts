/** The test runner reports failed checks, crashes and files that end early; coverage counts the
 *  lines that ran. */
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { FAULTS, groupOf, inOrder, isLeftToCi, FILES as RUN_FILES } from '../groups.ts'
import { cachedCommand } from '../helpers/operator.ts'
import { countsIn } from '../run.ts'
import { SUITES, testsOf } from '../suites/suites.ts'
import { branchesOf, branchesRun } from './branches.ts'
import { linesRun } from './lines.ts'
import { scriptsIn, summaryOf } from './v8-reports.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RUN = fileURLToPath(new URL('../run.ts', import.meta.url))
const TAP = JSON.stringify(import.meta.resolve('tap'))
const FILES = {
  'good.test.ts': `import t from ${TAP}\nt.pass('fine')\nt.test('later', { skip: true })\n`,
  'bad.test.ts': `import t from ${TAP}\nt.equal(1, 2, 'one is two')\n`,
  'crash.test.ts': `import t from ${TAP}\nt.pass('fine')\nprocess.kill(process.pid, 'SIGKILL')\n`,
  'early.test.ts': "console.log('ok 1 - all of it')\nprocess.exit(0)\n",
}

t.test('test runner: names each of three failed files among four', async t => {
  const { status, stdout } = spawnSync(...cachedCommand(RUN, t.testdir(FILES)), {
    encoding: 'utf8',
  })
  t.equal(status, 1)
  for (const name of ['bad', 'crash', 'early'])
    t.match(stdout, new RegExp(`^not ok \\d - \\S*${name}\\.test\\.ts`, 'm'))
  t.match(stdout, /^ok \d - \S*good\.test\.ts # time=\d+ms, CPU/m)
  t.match(stdout, /^ +not ok 1 - one is two$/m, 'the failed check is printed')
  t.match(stdout, /^# \{ .*fail: 3.*\}$/m)
  t.match(stdout, /^# CPU \d+ s in all; /m)
})

t.test('test runner: prints a single file whole, and fails without files', async t => {
  const folder = t.testdir({ 'good.test.ts': FILES['good.test.ts'], none: {} })
  const good = spawnSync(...cachedCommand(RUN, `${folder}/good.test.ts`), { encoding: 'utf8' })
  t.equal(good.status, 0)
  t.match(good.stdout, /^ +ok 1 - fine$/m, 'the file is printed whole')
  t.equal(spawnSync(...cachedCommand(RUN, `${folder}/none`)).status, 1)
  const other = spawnSync(...cachedCommand(RUN, '--group', 'monney'), { encoding: 'utf8' })
  t.equal(other.status, 1)
  t.match(
    other.stdout,
    'There is no group "monney"; the groups are engine, money, formats, faults, ci',
  )
})

t.test('test runner: reads the counts of a test file', async t => {
  const counts = countsIn('# { total: 9, pass: 8, skip: 1 }\n# time=1ms\n')
  t.same(Object.fromEntries(counts), { total: 9, pass: 8, skip: 1 })
  t.equal(countsIn('ok 1 - # { total: 9 }').size, 0)
})

/** `a/{b,c}` is `a/b` and `a/c`: a file that was renamed must not vanish from a list. */
const alternativesOf = (pattern: string): string[] => {
  const [braces = '', list = ''] = /\{([^{}]*)\}/.exec(pattern) ?? []
  if (braces === '') return [pattern]
  return list.split(',').flatMap(each => alternativesOf(pattern.replace(braces, each)))
}

t.test('fault tests: each alternative of the listed patterns matches a file', async t => {
  for (const [fault, patterns] of Object.entries(FAULTS))
    for (const pattern of patterns.flatMap(alternativesOf))
      t.ok(globSync(pattern, { cwd: ROOT }).length > 0, `${fault}: ${pattern}`)
})

t.test('test groups: files are assigned by path, long ones run first', async t => {
  t.equal(groupOf('test/journeys/money/wrong-keys.test.ts'), 'money')
  t.equal(groupOf('test/journeys/formats/format-matrix.test.ts'), 'formats')
  t.equal(groupOf('test/journeys/start.test.ts'), 'engine')
  const files = ['overload', 'b', 'a'].map(name => `test/journeys/${name}.test.ts`)
  files.push('test/suites/z.test.ts')
  t.same(inOrder(files), files.toReversed())
})

t.test('test groups: npm test and CI together run each test file once', async t => {
  const files = globSync(RUN_FILES, { cwd: ROOT })
  const isSuite = (file: string): boolean => file.startsWith('test/suites/')
  const suiteTests = Object.keys(SUITES).flatMap(name =>
    (['npm', 'ci'] as const).flatMap(group => {
      const tests = testsOf(name, group)
      const file = `test/suites/${group === 'ci' ? 'ci/' : ''}${name}.test.ts`
      t.equal(files.includes(file), tests.length > 0, `${file} runs ${tests.length} files`)
      if (tests.length === 0) return []
      t.match(readFileSync(join(ROOT, file), 'utf8'), `runSuite('${name}'`)
      if (group === 'ci') t.ok(isLeftToCi(file))
      return tests.map(each => `test/${each}`)
    }),
  )
  const all = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/fixtures/**'] })
  t.same(
    [...files, ...suiteTests].filter(file => !isSuite(file)).sort(),
    all.filter(file => !isSuite(file)).sort(),
  )
  t.ok(files.filter(isLeftToCi).length > 50)
})

const TEXT = 'const a = 1\nconst never = () => {\n  return 2\n}\nexport { a, never }\n'
const script = (url: string, from: number, to: number, count: number) => ({
  url,
  functions: [
    { ranges: [{ startOffset: 0, endOffset: TEXT.length, count: 1 }] },
    { ranges: [{ startOffset: from, endOffset: to, count }] },
  ],
})

t.test('line coverage: a line inside of a range that did not run is not covered', async t => {
  const body = [TEXT.indexOf('()'), TEXT.indexOf('}') + 1] as const
  t.same(linesRun(TEXT, script('', ...body, 0)), [true, true, false, false, true, true])
  t.same(linesRun(TEXT, script('', ...body, 1)), Array(6).fill(true))
})

const BRANCHES = `export const sizeOf = (x: number): string => {
  if (x > 9) return 'large'
  const mark = x > 2 ? () => '!' : () => '?'
  if (x > 1) return 'middle' + mark()
  else return x < 0 && mark() || 'small'
}
for (const each of process.argv.slice(2)) sizeOf(Number(each))
`

t.test(
  'branch coverage: arms, absent elses and right operands count as a process ran them',
  async t => {
    const folder = t.testdir({ 'sizes.ts': BRANCHES })
    const branches = branchesOf('sizes.ts', BRANCHES)
    const missedWith = (...values: number[]): string[] => {
      const reports = mkdtempSync(join(folder, 'reports-'))
      spawnSync(process.execPath, [join(folder, 'sizes.ts'), ...values.map(String)], {
        env: { ...process.env, NODE_V8_COVERAGE: reports },
      })
      const scripts = readdirSync(reports).flatMap(name => scriptsIn(join(reports, name)))
      const script = scripts.find(({ url }) => url.endsWith('/sizes.ts')) ?? {
        url: '',
        functions: [],
      }
      const run = branchesRun(branches, script)
      return branches.flatMap(({ line, start, elseOf }, index) =>
        run[index]
          ? []
          : [`${line}: ${elseOf ? 'else of ' : ''}${BRANCHES.slice(start).slice(0, 9)}`],
      )
    }
    t.equal(missedWith().length, branches.length)
    t.same(
      missedWith(10),
      missedWith().filter(each => each !== "2: return 'l"),
    )
    t.same(missedWith(2, 3, 0), ["2: return 'l", '5: mark() ||'])
  },
)

t.test('coverage of a bundle: counts for the lines and branches of its source files', async t => {
  const root = t.testdir({
    engine: { 'sizes.ts': BRANCHES },
    'main.ts': "import './engine/sizes.ts'\nconsole.log(process.argv.length > 9 || 'few')\n",
    reports: {},
  })
  const bundle = join(root, 'main.mjs')
  await build({
    entryPoints: [join(root, 'main.ts')],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    sourcemap: true,
  })
  spawnSync(process.execPath, [bundle, '2', '3'], {
    env: { ...process.env, NODE_V8_COVERAGE: join(root, 'reports') },
  })
  const [file] = Object.values(summaryOf(join(root, 'reports'), root, ['engine']))
  // `return 'large'`, and the last return with its operands.
  t.same(file?.missing, [2, 5, 5, 5])
  t.same(file?.branches, { total: 8, covered: 4 })
})

const ENGINE = { 'a.ts': TEXT, 'b.ts': 'export const b = 1\n', 'c.ts': 'export interface C {}\n' }

t.test(
  'line coverage: adds processes up, counts unloaded files and ignores files of types',
  async t => {
    const body = [TEXT.indexOf('()'), TEXT.indexOf('}') + 1] as const
    const root = t.testdir({ engine: ENGINE, once: {}, twice: {} })
    const report = (count: number) =>
      JSON.stringify({
        result: [script(pathToFileURL(`${root}/engine/a.ts`).href, ...body, count)],
      })
    writeFileSync(`${root}/once/1.json`, report(0))
    for (const [name, count] of Object.entries({ 1: 0, 2: 1, 3: 0 }))
      writeFileSync(`${root}/twice/${name}.json`, report(count))
    writeFileSync(`${root}/twice/cut.json`, report(0).slice(0, 20))
    const coverageIn = (reports: string) =>
      Object.entries(summaryOf(`${root}/${reports}`, root, ['engine'])).map(([file, { lines }]) => [
        basename(file),
        lines.covered,
        lines.total,
      ])
    const never = ['b.ts', 0, 2]
    t.same(coverageIn('once').sort(), [['a.ts', 4, 6], never])
    t.same(coverageIn('twice').sort(), [['a.ts', 6, 6], never])
  },
)
