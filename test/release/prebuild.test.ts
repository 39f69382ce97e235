/** The files that `npm ci` builds ahead: a start uses them while the sources are the same, and
 *  works without them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findRunning } from '../../engine/processes/running-gateway.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = 'engine plugins program models schemas examples routes.yaml package.json'
const base = mkdtempSync(join(tmpdir(), 'tollgate-prebuild-'))
t.teardown(() => rmSync(base, { recursive: true, maxRetries: 5 }))
let folder = join(base, 'program')
for (const name of COPIED.split(' '))
  cpSync(join(ROOT, name), join(folder, name), { recursive: true })
// Each package is a link: what is prebuilt is beside them.
mkdirSync(join(folder, 'node_modules'))
for (const name of readdirSync(join(ROOT, 'node_modules')).filter(each => each !== '.cache'))
  symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))

const env = operatorEnv({ PORT: '0', ADMIN_PORT: '0', WORKERS: '1', NO_COLOR: '1' })
delete env.TOLLGATE_PLUGINS
const prebuild = (more: Readonly<Record<string, string>> = {}): string =>
  execFileSync(...plainCommand(process.execPath, join(folder, 'program/release/prepare.cjs')), {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, ...more },
  })

/** Starts on an empty data folder; resolves to the scripts of its processes and its cache. */
const start = async (config = join(folder, 'routes.yaml')) => {
  const store = mkdtempSync(join(base, 'data-'))
  const child: ChildProcess = spawn(
    ...plainCommand(process.execPath, join(folder, 'engine/bin.cjs'), 'start'),
    {
      cwd: folder,
      env: { ...env, TOLLGATE_DATA: store, TOLLGATE_CONFIG: config },
      stdio: 'ignore',
    },
  )
  const { pid, url } = await eventually(() => findRunning(store))
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const scripts = children.flatMap(each => {
    const words = readFileSync(`/proc/${each}/cmdline`, 'utf8').split('\0')
    return words.filter(word => /\/(worker|writer)\.[a-z]+$/.test(word))
  })
  const { status } = await fetch(`${url}/api/models`)
  // The version that went live is then kept for a rollback.
  await eventually(() => readdirSync(join(store, 'history')).length > 0)
  child.kill('SIGTERM')
  const [exit] = await once(child, 'exit')
  const built = readdirSync(join(store, 'cache')).filter(name => /^plugins-.*\.json$/.test(name))
  return { store, scripts: scripts.sort(), status, exit, hasBundled: built.length > 0 }
}
const SCRIPTS = ['worker.cjs', 'writer.cjs']
const SOURCES = ['engine/processes/worker.ts', 'engine/store/sqlite/writer.ts']
const inProgram = (names: readonly string[]) =>
  names.map(name => join(folder, 'node_modules/.cache/tollgate/program', name))
const inSources = () => SOURCES.map(name => join(folder, name))

t.test('prebuild: a program without it starts from its sources', async t => {
  const { scripts, status, exit, hasBundled } = await start()
  t.same(scripts, inSources())
  t.same([status, exit, hasBundled], [200, 0, true])
})

t.test('prebuild: npx, which prepares a clone once more, and an old Node build nothing', t => {
  t.equal(prebuild({ npm_command: 'exec' }), '')
  const old = [
    '--eval',
    "Object.defineProperty(process.versions, 'node', { value: '20.19.5' }); require('./program/release/prepare.cjs')",
  ]
  t.equal(
    execFileSync(...plainCommand(process.execPath, ...old), { cwd: folder, encoding: 'utf8', env }),
    '',
  )
  t.notOk(existsSync(join(folder, 'node_modules/.cache')))
  t.end()
})

t.test('prebuild: a first start runs scripts and bundles nothing', async t => {
  t.equal(prebuild(), '')
  const { store, scripts, status, exit, hasBundled } = await start()
  t.same(scripts, inProgram(SCRIPTS))
  t.same([status, exit, hasBundled], [200, 0, false])
  const [version = ''] = readdirSync(join(store, 'history'))
  const { plugins } = JSON.parse(readFileSync(join(store, 'history', version), 'utf8'))
  t.ok(
    plugins.every(({ bundle }: { bundle: string }) => bundle.startsWith(store)),
    'a rollback after an upgrade finds the bundles in the data folder',
  )
  const other = mkdtempSync(join(base, 'config-'))
  execFileSync(...plainCommand(process.execPath, join(folder, 'engine/bin.cjs'), 'init'), {
    cwd: other,
    env,
  })
  const elsewhere = await start(join(other, 'routes.yaml'))
  t.same([elsewhere.exit, elsewhere.hasBundled], [0, false], 'routes.yaml of another folder')
})

const runCases = (): string => {
  const argv = [join(folder, 'engine/bin.cjs'), 'test', 'examples/routes.test.yaml']
  return execFileSync(...plainCommand(process.execPath, ...argv), {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, TOLLGATE_DATA: mkdtempSync(join(base, 'data-')) },
  })
}
t.test('prebuild: `tollgate test` starts its gateway from the scripts', t => {
  t.match(runCases(), /3 passed, 0 failed/)
  t.end()
})

t.test('prebuild: every script is one byte a character, since V8 keeps its text in memory', t => {
  const cache = join(folder, 'node_modules/.cache/tollgate')
  const scripts = ['program', 'plugins'].flatMap(name =>
    globSync(`${name}/*.{js,cjs}`, { cwd: cache }),
  )
  t.ok(scripts.length >= 10, String(scripts))
  for (const script of scripts)
    t.same(readFileSync(join(cache, script), 'utf8').match(/[^\0-\xff].*/g), null, script)
  t.end()
})

t.test('prebuild: a plugin of the operator beside the shipped ones is bundled alone', async t => {
  const bundlesOf = async (): Promise<Readonly<Record<string, string>>> => {
    const { store, exit } = await start()
    t.equal(exit, 0)
    const [version = ''] = readdirSync(join(store, 'history'))
    const { plugins } = JSON.parse(readFileSync(join(store, 'history', version), 'utf8'))
    return Object.fromEntries(
      plugins.map(({ name, bundle }: { name: string; bundle: string }) => [name, basename(bundle)]),
    )
  }
  const before = await bundlesOf()
  const own = join(folder, 'plugins/own.ts')
  writeFileSync(
    own,
    "export default { schema: { type: 'string', description: 'A text.', examples: ['a'] }, setup: () => ({}) }\n",
  )
  const { own: ownBundle, ...shipped } = await bundlesOf()
  t.match(runCases(), /3 passed, 0 failed/, 'and `tollgate test` works beside it')
  rmSync(own)
  t.match(ownBundle, /^own-/)
  t.same(shipped, before)
})

t.test('init: models of the operator beside the catalogue are not copied', t => {
  const own = join(folder, 'models/mine.yaml')
  writeFileSync(
    own,
    'models: { mine: { to: gp/gpt-4.1-mini, price: { input: 9 / 1M, output: 9 / 1M } } }\n',
  )
  const other = mkdtempSync(join(base, 'config-'))
  execFileSync(...plainCommand(process.execPath, join(folder, 'engine/bin.cjs'), 'init'), {
    cwd: other,
    env,
  })
  rmSync(own)
  const text = readFileSync(join(other, 'routes.yaml'), 'utf8')
  t.match(text, /gpt-4\.1-mini:[\s\S]{0,400}0\.40/)
  t.notMatch(text, '9 / 1M')
  t.end()
})

t.test('prebuild: a moved program does not run the scripts of its old place', async t => {
  const old = folder
  folder = join(base, 'moved')
  renameSync(old, folder)
  const { scripts, status, exit } = await start()
  t.same(scripts, inSources())
  t.same([status, exit], [200, 0])
  renameSync(folder, old)
  folder = old
})

t.test(
  'prebuild: an edited plugin is bundled, an edited program runs from its sources',
  async t => {
    appendFileSync(join(folder, 'plugins/notify/index.ts'), '\n// edited\n')
    const plugin = await start()
    t.same([plugin.scripts, plugin.hasBundled], [inProgram(SCRIPTS), true])
    appendFileSync(join(folder, 'engine/gateway.ts'), '\n// edited\n')
    const program = await start()
    t.same([program.scripts, program.status], [inSources(), 200])
  },
)

t.test('prebuild: a program that does not start leaves no error behind', async t => {
  appendFileSync(join(folder, 'routes.yaml'), '\nunknown_section: 1\n')
  const child = spawn(...plainCommand(process.execPath, 'program/release/prepare.cjs'), {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  const [exit] = await once(child, 'close')
  t.equal(exit, 0, 'npm ci succeeds')
  t.match(text, /^Nothing is prebuilt; the first start takes longer\..*unknown_section/s)
})
