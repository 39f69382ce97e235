/** The test runner reports failed checks, crashes and files that end early; coverage counts the
 *  lines that ran. */
import { spawnSync } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { FAULTS, groupOf, inOrder } from '../groups.ts'
import { cachedCommand } from '../helpers/operator.ts'
import { countsIn } from '../run.ts'
import { linesRun, summaryOf } from './lines.ts'

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
      Object.entries(summaryOf(`${root}/${reports}`, root, 'engine')).map(([file, { lines }]) => [
        basename(file),
        lines.covered,
        lines.total,
      ])
    const never = ['b.ts', 0, 2]
    t.same(coverageIn('once').sort(), [['a.ts', 4, 6], never])
    t.same(coverageIn('twice').sort(), [['a.ts', 6, 6], never])
  },
)
