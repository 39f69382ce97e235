/** `tollgate plugin new`: writes a plugin that works and whose test passes; overwrites no file. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { operatorEnv, plainCommand } from '../../helpers/operator.ts'

const options = { env: operatorEnv(), encoding: 'utf8' } as const
const root = fileURLToPath(new URL('../../..', import.meta.url))
const YAML = `settings: { data: ./not-there }
pipeline: [stamp]
upstreams: { up: { url: 'http://127.0.0.1:1' } }
routes: [{ path: GET /items, upstream: up, stamp: hello }]
`
/** A project with routes.yaml beside engine/, as in a clone. */
const project = (t: Test): string => {
  const folder = t.testdir({ 'routes.yaml': YAML, plugins: {} })
  symlinkSync(join(root, 'engine'), join(folder, 'engine'))
  return folder
}

t.test('plugin new: writes a short typed plugin that passes check and its own test', async t => {
  const folder = project(t)
  const argv = ['plugin', 'new', 'stamp', '-c', join(folder, 'routes.yaml')]
  const { code, out } = await tollgate(argv)
  t.equal(code, 0)
  t.match(out, /plugins\/stamp\.ts and .*test\/plugins\/stamp\.test\.ts written/)
  const test = join(folder, 'test/plugins/stamp.test.ts')
  t.match(out, /Run its test: +npx --no-install tap .*test\/plugins\/stamp\.test\.ts/)
  // Its types are checked by test/docs/plugins.test.ts.
  const source = readFileSync(join(folder, 'plugins/stamp.ts'), 'utf8')
  t.ok(source.trimEnd().split('\n').length <= 15, '15 lines at most')

  const run = spawnSync(...plainCommand(process.execPath, test), options)
  t.equal(run.status, 0, run.stdout + run.stderr)
  t.match(run.stdout, /^ {4}1\.\.2$/m, 'two checks')

  t.equal((await tollgate(['check', ...argv.slice(3)])).code, 0)
  const explanation = await tollgate(['explain', 'GET', '/items', '--json', ...argv.slice(3)])
  t.match(JSON.parse(explanation.out).stages, [
    { stage: 'stamp', outcome: 'passes', says: { adds: 'x-stamp: hello' } },
  ])
  t.match(await tollgate(argv), { code: 2, err: /stamp\.ts exists; it was not overwritten/ })
  t.equal(readFileSync(join(folder, 'plugins/stamp.ts'), 'utf8'), source)
})

t.test('plugin new: the written test fails if the plugin does not work', async t => {
  const folder = project(t)
  await tollgate(['plugin', 'new', 'stamp', '-c', join(folder, 'routes.yaml')])
  const plugin = join(folder, 'plugins/stamp.ts')
  writeFileSync(
    plugin,
    readFileSync(plugin, 'utf8').replace("['x-stamp'] = text", "['x-other'] = text"),
  )
  const run = spawnSync(
    ...plainCommand(process.execPath, join(folder, 'test/plugins/stamp.test.ts')),
    options,
  )
  t.not(run.status, 0)
})

t.test('plugin new: in a package of CommonJS it says how the test can run', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-plugin-new-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'routes.yaml'), YAML)
  for (const [type, isSaid] of [
    ['commonjs', true],
    ['module', false],
  ] as const) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
    const { out } = await tollgate(['plugin', 'new', type, '-c', join(folder, 'routes.yaml')])
    t.match(out, /Run its test: +node --test .*\.test\.ts/)
    t.equal(out.includes('npm pkg set type=module'), isSaid, type)
  }
})

t.test('plugin new: refuses invalid names', async t => {
  const config = join(project(t), 'routes.yaml')
  for (const name of ['Stamp', '../stamp', '9', 'upstream', 'a_b', ''])
    t.match(await tollgate(['plugin', 'new', name, '-c', config]), {
      code: 2,
      err: /is not a valid plugin name/,
    })
})

t.test('plugin new: writes to the configured plugin folder and prints JSON', async t => {
  const folder = t.testdir({ 'routes.yaml': YAML.replace('data:', 'plugins: [own], data:') })
  const argv = ['plugin', 'new', 'stamp', '--json', '-c', join(folder, 'routes.yaml')]
  const { code, out } = await tollgate(argv)
  t.equal(code, 0)
  t.match(JSON.parse(out), { plugin: /own\/stamp\.ts$/, test: /test\/plugins\/stamp\.test\.ts$/ })
})

t.test('plugin new: refuses the names of shipped plugins', async t => {
  const folder = project(t)
  for (const name of ['auth', 'translate', 'slots', 'aws']) {
    const result = await tollgate(['plugin', 'new', name, '-c', join(folder, 'routes.yaml')])
    t.match(result, { code: 2, err: /is the name of a shipped plugin .*: use another name/ }, name)
    t.notOk(existsSync(join(folder, 'plugins', `${name}.ts`)))
  }
})
