/** The check of the runtime: an old Node changes to the pinned one or is refused in one sentence; a
 *  lenient HTTP parser is refused. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { operatorEnv, plainCommand } from '../../helpers/operator.ts'

type Verdict = { change?: string; refuse?: string }
interface Guard {
  judge(runtime: {
    version: string
    flags: readonly string[]
    pinned?: { path: string; version: string }
  }): Verdict
  flagsOf(execArgv: readonly string[], options?: string): string[]
}
const root = fileURLToPath(new URL('../../..', import.meta.url))
const bin = join(root, 'engine/bin.cjs')
const { judge, flagsOf } = createRequire(import.meta.url)(bin) as Guard
const pinnedNode = { path: '/pinned/node', version: '26.10.0' }

t.test('runtime check: old versions change to the pinned Node or are refused', async t => {
  for (const version of ['24.18.1', '24.19.0', '25.0.0', '26.10.0', '100.0.0'])
    t.same(judge({ version, flags: [], pinned: pinnedNode }), {}, `${version} continues`)
  for (const version of ['20.20.2', '24.18.0', '24.9.9', '9.99.99']) {
    t.same(
      judge({ version, flags: [], pinned: pinnedNode }),
      { change: '/pinned/node' },
      `${version} changes`,
    )
    t.match(judge({ version, flags: [] }).refuse, /24\.18\.1 or newer and this is Node \d/)
    const stale = { path: '/pinned/node', version: '22.0.0' }
    t.match(judge({ version, flags: [], pinned: stale }).refuse, /npm ci/)
  }
})

t.test('runtime check: refuses a lenient HTTP parser on any version', async t => {
  for (const flag of [
    '--insecure-http-parser',
    '--insecure_http_parser',
    '--insecure-http-parser=true',
  ])
    for (const version of ['20.20.2', '26.10.0'])
      t.match(
        judge({ version, flags: [flag], pinned: pinnedNode }).refuse,
        /--insecure-http-parser/,
      )
  t.same(
    judge({ version: '26.10.0', flags: ['--insecure-http-parser=false'], pinned: pinnedNode }),
    {},
  )
  t.same(flagsOf(['--a'], '--b  "--c"'), ['--a', '--b', '--c', ''])
  for (const [args, options] of [
    [['--insecure-http-parser'], ''],
    [[], '--insecure-http-parser'],
    [[], '--no-warnings "--insecure-http-parser"'],
  ] as const) {
    const env = { ...process.env, NODE_OPTIONS: options }
    const run = spawnSync(process.execPath, [...args, bin, 'version'], { env, encoding: 'utf8' })
    t.equal(run.status, 2)
    t.match(run.stderr, /^Tollgate does not start with --insecure-http-parser.*\n$/)
    t.equal(run.stdout, '')
  }
})

/** Arguments that start a copy of the program on a runtime that reports Node 20. `script`: the text
 *  of the pinned `node`, a shell script. */
const installation = (t: Test, script?: string): string[] => {
  // Outside the project, whose own pinned node would be found from a folder inside it.
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'engine'))
  const pretend = "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })"
  writeFileSync(join(folder, 'old.cjs'), pretend)
  cpSync(bin, join(folder, 'engine/bin.cjs'))
  if (script !== undefined) {
    const home = join(folder, 'node_modules/node')
    mkdirSync(join(home, 'bin'), { recursive: true })
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'node', version: '26.1.0' }))
    writeFileSync(join(home, 'bin/node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  return ['-r', join(folder, 'old.cjs'), join(folder, 'engine/bin.cjs')]
}

t.test('old Node: runs the pinned Node with the same arguments and exit code', async t => {
  const args = installation(t, 'for word; do echo "$word"; done; exit 7')
  const run = spawnSync(process.execPath, [...args, 'check', 'a b'], { encoding: 'utf8' })
  t.equal(run.status, 7)
  t.same(run.stdout.trim().split('\n'), [...args, 'check', 'a b'])
})

t.test('memory: child processes get MALLOC_ARENA_MAX=1, unless the operator set it', async t => {
  const args = installation(t, 'echo "$MALLOC_ARENA_MAX"')
  const arenas = (more: NodeJS.ProcessEnv) =>
    spawnSync(process.execPath, args, { env: { ...process.env, ...more }, encoding: 'utf8' }).stdout
  t.equal(arenas({ MALLOC_ARENA_MAX: undefined }), '1\n')
  t.equal(arenas({ MALLOC_ARENA_MAX: '4' }), '4\n')
})

t.test('old Node: says what to install if a library of the pinned Node is missing', async t => {
  const run = spawnSync(process.execPath, installation(t, 'exit 127'), { encoding: 'utf8' })
  t.equal(run.status, 127)
  t.match(run.stderr, /bin\/node needs a library that is missing here; .*libatomic1\n$/)
})

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)
  t.test(`old Node: passes ${signal} to the pinned Node`, async t => {
    const trap = `trap 'exit 9' ${signal.slice(3)}; echo up; while :; do sleep 0.05; done`
    const args = installation(t, trap)
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    child.kill(signal)
    t.same(await once(child, 'exit'), [9, null])
  })

const SCRIPT = '/usr/bin/script'
t.test(
  'old Node: passes SIGINT to the pinned Node on a terminal, if it alone gets it or the group does',
  { skip: !existsSync(SCRIPT) && 'util-linux is not installed' },
  async t => {
    const trap = "trap 'exit 9' INT; echo up $PPID.; while :; do sleep 0.05; done"
    for (const send of [
      (launcher: number) => process.kill(launcher, 'SIGINT'),
      (_: number, { stdin }: ChildProcess) => stdin?.write('\u0003'),
    ]) {
      const words = [process.execPath, ...installation(t, trap)].map(each => `'${each}'`)
      const command = `exec ${words.join(' ')}`
      const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], { stdio: 'pipe' })
      const exit = once(child, 'exit')
      const up = Promise.withResolvers<number>()
      let text = ''
      child.stdout.setEncoding('utf8').on('data', chunk => {
        text += chunk
        const [, launcher] = /up (\d+)\./.exec(text) ?? []
        if (launcher !== undefined) up.resolve(Number(launcher))
      })
      send(await up.promise, child)
      t.same(await exit, [9, null])
    }
  },
)

t.test('old Node: ends by the signal that ended the pinned Node', async t => {
  const run = spawnSync(process.execPath, installation(t, 'kill -9 $$'))
  t.equal(run.signal, 'SIGKILL')
})

t.test('old Node: without a pinned Node prints one sentence and exits 2', async t => {
  const [, preload, copy] = installation(t)
  const run = spawnSync(process.execPath, ['-r', preload ?? '', copy ?? ''], { encoding: 'utf8' })
  t.equal(run.status, 2)
  t.match(run.stderr, /^Tollgate needs Node 24\.18\.1 or newer and this is Node 20\.1\.0: .*\n$/)
})

t.test('old Node: a pinned Node that is too old is started once', async t => {
  const args = installation(t, 'echo "$TOLLGATE_CHANGED_RUNTIME"')
  t.equal(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout, '1\n')
  const env = { ...process.env, TOLLGATE_CHANGED_RUNTIME: '1' }
  const run = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  t.equal(run.status, 2)
  t.match(run.stderr, /^Tollgate needs Node/)
})

t.test('old Node: the program itself changes to the pinned Node once', async t => {
  const old = "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })"
  const folder = t.testdir({
    'first.cjs': `if (!process.env.TOLLGATE_CHANGED_RUNTIME) ${old}`,
    'always.cjs': old,
  })
  const run = (preload: string, more: Readonly<Record<string, string>> = {}) =>
    spawnSync(process.execPath, ['-r', join(folder, preload), bin, 'version'], {
      encoding: 'utf8',
      env: { ...process.env, ...more },
    })
  t.match(run('first.cjs'), { status: 0, stdout: /tollgate|\d+\.\d+\.\d+/ })
  const byNpm = { npm_lifecycle_event: 'start', npm_package_name: 'tollgate' }
  t.match(run('first.cjs', byNpm), { status: 0 })
  t.match(run('always.cjs'), { status: 2, stderr: /^Tollgate needs Node/ })
})

/** A Node of this machine that is too old, if there is one. */
const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .filter(folder => !folder.includes('node_modules'))
  .map(folder => join(folder, 'node'))
  .filter(file => existsSync(file) && isExecutable(file))
  .find(file => {
    const version = spawnSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout
    return judge({ version: version.trim(), flags: [] }).refuse !== undefined
  })
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

t.test(
  'old Node: a real old version starts the program on the pinned Node',
  { skip: oldNode === undefined && 'this machine has no old Node' },
  async t => {
    const env = operatorEnv()
    const run = spawnSync(...plainCommand(oldNode ?? '', bin, 'version'), { env, encoding: 'utf8' })
    t.equal(run.stderr, '')
    t.equal(run.status, 0)
    t.match(run.stdout, /^tollgate \d+\.\d+\.\d+ \(node 2[46]\./)
  },
)
