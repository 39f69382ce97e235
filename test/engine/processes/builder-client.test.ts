/** The builder process from outside: what hangs, throws or exits there is a problem with a place. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../../engine/observe/log.ts'
import { Workshop } from '../../../engine/processes/builder-client.ts'
import type { Refused } from '../../../engine/processes/messages.ts'
import { createExposition } from '../../../engine/processes/metrics-exposition.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { scaled } from '../../helpers/long.ts'
import { folderWith } from '../../helpers/primary.ts'

const FAULTS: Readonly<Record<string, readonly [code: string, source: string]>> = {
  'loops at its top': ['PLUGIN_HANGS', 'for (;;) Math.random()\nexport default {}'],
  'loops in setup': ['PLUGIN_HANGS', setup('for (;;) Math.random()')],
  'stands still in setup': [
    'PLUGIN_HANGS',
    setup('Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'),
  ],
  'exits at its top': ['PLUGIN_ENDS', 'process.exit(0)\nexport default {}'],
  'exits in setup': ['PLUGIN_ENDS', setup('process.exit(0)')],
  'kills itself in setup': ['PLUGIN_ENDS', setup("process.kill(process.pid, 'SIGKILL')")],
}
/** Of those that hang, one that leaves the processor to other tests. */
const SHORT = ['stands still in setup', 'exits at its top']

function setup(code: string): string {
  return `export default { schema: {}, setup() { ${code}\n return { answers: true } } }`
}

const workshopOn = (t: Test, files: Readonly<Record<string, string>>) => {
  const folder = t.testdir({ 'routes.yaml': files['routes.yaml'] ?? '', plugins: pluginsOf(files) })
  process.env.TOLLGATE_DATA = usedFolder(join(folder, 'data'))
  const workshop = new Workshop({
    config: join(folder, 'routes.yaml'),
    patience: scaled(1_500, 10_000),
    log: createLog({ level: 'silent' }),
    exposition: createExposition(),
    needsStore: () => {},
  })
  t.teardown(() => workshop.stop())
  return workshop
}
const pluginsOf = (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(files).flatMap(([name, text]) =>
      name.startsWith('plugins/') ? [[name.slice('plugins/'.length), text]] : [],
    ),
  )

t.test(
  'a plugin that hangs or ends its process is named, and the next build is served',
  async t => {
    const good = folderWith()
    const workshop = workshopOn(t, good)
    const first = await workshop.build()
    t.equal(first.type, 'built')
    if (first.type !== 'built') return
    workshop.live(first)
    const file = join(t.testdirName, 'plugins/stamp.ts')
    for (const name of scaled(SHORT, Object.keys(FAULTS))) {
      const [code, source] = FAULTS[name] ?? ['', '']
      writeFileSync(file, source)
      const refused = (await workshop.build()) as Refused
      t.match(
        refused,
        { type: 'problems', problems: [{ code, file: 'plugins/stamp.ts', line: 1 }] },
        name,
      )
      t.match(refused.text, 'plugins/stamp.ts:1:1')
    }
    writeFileSync(file, good['plugins/stamp.ts'] ?? '')
    t.equal(
      (await workshop.build()).type,
      'unchanged',
      'it knows what serves, though it was started anew',
    )
  },
)
