/** Builder client: a plugin that hangs or exits becomes a problem that names its file. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../../engine/observe/log.ts'
import { BuilderClient } from '../../../engine/processes/builder-client.ts'
import type { BuildProblems, BuiltVersion } from '../../../engine/processes/messages.ts'
import { createExposition } from '../../../engine/processes/metrics-exposition.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { eventually, folderWith, routes } from '../../helpers/gateway/primary.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'

const FAULTS: Readonly<Record<string, readonly [code: string, source: string]>> = {
  'loops at its top': ['PLUGIN_HANGS', 'for (;;) Math.random()\nexport default {}'],
  'loops in setup': ['PLUGIN_HANGS', setup('for (;;) Math.random()')],
  'blocks in setup': [
    'PLUGIN_HANGS',
    setup('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'),
  ],
  'exits at its top': ['PLUGIN_ENDS', 'process.exit(0)\nexport default {}'],
  'exits in setup': ['PLUGIN_ENDS', setup('process.exit(0)')],
  'kills itself in setup': ['PLUGIN_ENDS', setup("process.kill(process.pid, 'SIGKILL')")],
}
/** The short list has the hanging case that uses no CPU. */
const SHORT = ['blocks in setup', 'exits at its top']

function setup(code: string): string {
  return `export default { schema: {}, setup() { ${code}\n return { answers: true } } }`
}

const createBuilder = (
  t: Test,
  files: Readonly<Record<string, string>>,
  options: { readonly idleTimeout?: number } = {},
) => {
  const folder = t.testdir({ 'routes.yaml': files['routes.yaml'] ?? '', plugins: pluginsOf(files) })
  process.env.TOLLGATE_DATA = usedFolder(join(folder, 'data'))
  const builder = new BuilderClient({
    config: join(folder, 'routes.yaml'),
    heartbeatTimeout: shortOrLong(1_500, 10_000),
    log: createLog({ level: 'silent' }),
    exposition: createExposition(),
    needsStore: () => {},
    ...options,
  })
  t.teardown(() => builder.stop())
  return builder
}
const pluginsOf = (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(files).flatMap(([name, text]) =>
      name.startsWith('plugins/') ? [[name.slice('plugins/'.length), text]] : [],
    ),
  )

t.test(
  'builder client: names a plugin that hangs or exits, and the next build succeeds',
  async t => {
    const good = folderWith()
    const builder = createBuilder(t, good)
    const first = await builder.build()
    t.equal(first.type, 'built')
    if (first.type !== 'built') return
    builder.markLive(first)
    const file = join(t.testdirName, 'plugins/stamp.ts')
    for (const name of shortOrLong(SHORT, Object.keys(FAULTS))) {
      const [code, source] = FAULTS[name] ?? ['', '']
      writeFileSync(file, source)
      const result = (await builder.build()) as BuildProblems
      t.match(
        result,
        { type: 'problems', problems: [{ code, file: 'plugins/stamp.ts', line: 1 }] },
        name,
      )
      t.match(result.text, 'plugins/stamp.ts:1:1')
    }
    writeFileSync(file, good['plugins/stamp.ts'] ?? '')
    t.equal(
      (await builder.build()).type,
      'unchanged',
      'the restarted builder knows the live version',
    )
  },
)

t.test(
  'builder client: a builder that is started before a version goes live knows that version',
  { skip: process.platform !== 'linux' && 'the builder is found in /proc' },
  async t => {
    const builder = createBuilder(t, folderWith())
    const config = join(t.testdirName, 'routes.yaml')
    const build = async (text: string): Promise<BuiltVersion> => {
      writeFileSync(config, routes(text))
      return (await builder.build()) as BuiltVersion
    }
    const children = `/proc/${process.pid}/task/${process.pid}/children`
    const ofBuilder = () =>
      readFileSync(children, 'utf8')
        .split(' ')
        .find(pid => pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('builder'))
    builder.markLive(await build('one'))
    const second = await build('two')
    const pid = ofBuilder()
    process.kill(Number(pid), 'SIGKILL')
    await eventually(() => ![undefined, pid].includes(ofBuilder()))
    await builder.welcome('')
    builder.markLive(second)
    t.equal((await build('two')).type, 'unchanged')
    const third = await build('one')
    t.equal(third.type, 'built')
    const parts = [...Object.values(third.blueprint.sections), third.blueprint.files]
    t.same(Object.keys(third.blueprint.texts).sort(), [...new Set(parts)].sort())
  },
)

t.test('builder client: a stop during a build blames no plugin', async t => {
  const marker = join(t.testdirName, 'begun')
  const slow = `import { writeFileSync } from 'node:fs'
export default { schema: {}, async setup() {
  writeFileSync(${JSON.stringify(marker)}, '')
  await new Promise(() => setInterval(() => {}, 1000))
} }`
  const builder = createBuilder(t, { ...folderWith(), 'plugins/stamp.ts': slow })
  const build = builder.build()
  await eventually(() => existsSync(marker))
  await builder.stop()
  t.match(await build, { type: 'unchanged' })
})

t.test('builder client: an idle builder ends, and the next build starts one again', async t => {
  const builder = createBuilder(t, folderWith(), { idleTimeout: 20 })
  const first = await builder.build()
  t.equal(first.type, 'built')
  if (first.type !== 'built') return
  builder.markLive(first)
  const hasChild = () => process.getActiveResourcesInfo().includes('ProcessWrap')
  for (const _ of [1, 2]) {
    while (hasChild()) await new Promise(resolve => setTimeout(resolve, 10))
    t.equal((await builder.build()).type, 'unchanged')
    t.ok(hasChild())
  }
})
