/** V8 flags of worker processes. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { workerFlags } from '../../../../engine/processes/memory/heap-flags.ts'

t.test('worker flags: the runtime accepts them and has the given young generation', async t => {
  const code = 'console.log(v8.getHeapSpaceStatistics().length > 0, process.execArgv.join())'
  const flags = workerFlags(1, 16)
  const run = spawnSync(process.execPath, [...flags, '-e', code], { encoding: 'utf8' })
  t.equal(run.status, 0, run.stderr)
  t.match(run.stdout, /^true .*--max-inlined-bytecode-size-cumulative=\d+/)
  t.notMatch(run.stderr, /bad option|unrecognized/)
})

t.test('worker flags: those of the operator come after ours', async t => {
  const flags = workerFlags(1, 16)
  const ours = flags.findIndex(flag => flag.startsWith('--max-inlined-bytecode-size'))
  t.ok(ours >= 0)
  t.same(flags.slice(flags.length - process.execArgv.length), process.execArgv)
  t.ok(ours < flags.length - process.execArgv.length)
})
