/** A command in a pipe: its output is complete, and `tollgate schema | head` ends quietly. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { measuredCommand, operatorEnv } from '../../helpers/operator.ts'

const bin = fileURLToPath(new URL('../../../engine/bin.cjs', import.meta.url))
const plugins = fileURLToPath(new URL('../../../plugins', import.meta.url))

t.test('output: a command ends quietly when the reader of its output has ended', async t => {
  const folder = t.testdir({
    'routes.yaml': `settings: { data: data, plugins: ['${plugins}'] }\npipeline: [auth, meter]\nroutes: []\n`,
  })
  // More than a pipe holds; the late reader makes the pipe fill.
  const whole = ['-c', '"$0" "$@" | { sleep 1; cat; }', ...measuredCommand(bin, 'schema').flat()]
  const { stdout } = spawnSync('sh', whole, {
    cwd: folder,
    env: operatorEnv({}),
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  })
  t.match(JSON.parse(stdout), { properties: { routes: Object } })
  const script = '("$0" "$@"; echo "exit $?" >&2) | true'
  const run = (...args: readonly string[]) =>
    spawnSync('sh', ['-c', script, ...measuredCommand(bin, ...args).flat()], {
      cwd: folder,
      env: operatorEnv({}),
      encoding: 'utf8',
    }).stderr.trim()
  t.equal(run('schema'), 'exit 0')
})
