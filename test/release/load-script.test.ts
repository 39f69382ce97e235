/** Scripts and the code that V8 has compiled for them: processes run here, as they do for users. */
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { plainCommand } from '../helpers/operator.ts'

const LOADER = fileURLToPath(
  new URL('../../engine/config/plugins/load-script.cjs', import.meta.url),
)
/** Runs `text` with the functions of the loader in a process of its own. */
const run = (text: string, ...flags: readonly string[]) =>
  spawnSync(
    ...plainCommand(
      process.execPath,
      ...flags,
      '--eval',
      `const { loadScript, importModule } = require(${JSON.stringify(LOADER)})\n${text}`,
    ),
    { encoding: 'utf8' },
  )
const load = (file: string, ...flags: readonly string[]) =>
  run(`process.stdout.write(JSON.stringify(loadScript(${JSON.stringify(file)})))`, ...flags)

t.test(
  'scripts: the code of a process is there for the next one, for each set of flags',
  async t => {
    const folder = t.testdir({ 'a-1.cjs': 'exports.sum = ((a, b) => a + b)(1, 2)' })
    const file = join(folder, 'a-1.cjs')
    const codes = () => readdirSync(folder).filter(name => name.endsWith('.code'))
    for (const flags of [[], [], ['--max-inlined-bytecode-size=1000']])
      t.match(load(file, ...flags), { status: 0, stdout: '{"sum":3}', stderr: '' })
    t.equal(codes().length, 2)
  },
)

t.test('scripts: damaged code is compiled again', async t => {
  const folder = t.testdir({ 'a-1.cjs': 'exports.one = 1' })
  const file = join(folder, 'a-1.cjs')
  load(file)
  const [code = ''] = readdirSync(folder).filter(name => name.endsWith('.code'))
  for (const damage of ['', 'no code']) {
    writeFileSync(join(folder, code), damage)
    t.match(load(file), { status: 0, stdout: '{"one":1}' }, damage)
  }
})

t.test(
  'loadScript: a script runs once, its error is thrown by each load, and it can import modules',
  async t => {
    const folder = t.testdir({
      'bad-1.cjs': 'globalThis.runs = (globalThis.runs ?? 0) + 1; throw new Error("broken")',
      'module.mjs': 'export default 7',
    })
    const { status, stdout } = run(`
    const errors = [0, 1].map(() => { try { loadScript('${join(folder, 'bad-1.cjs')}') } catch (error) { return error } })
    importModule('file://${join(folder, 'module.mjs')}').then(({ default: seven }) =>
      process.stdout.write([errors[0].message, errors[0] === errors[1], runs, seven].join()))`)
    t.same([status, stdout], [0, 'broken,true,1,7'])
  },
)
