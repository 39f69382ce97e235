/** Files of the configuration that the gateway may not write: the reason, and no change. */
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fileSource } from '../../../engine/config/read.ts'
import { inspect } from '../../../engine/processes/builder/inspect.ts'
import type { Resources } from '../../../engine/snapshot/resources.ts'

const YAML = 'routes: []\n'
const save = (folder: string) =>
  inspect(
    {
      config: join(folder, 'routes.yaml'),
      cacheFolder: folder,
      resources: {} as Resources,
      source: fileSource(),
      history: { last: undefined, list: () => [], find: () => undefined },
    },
    { name: 'save', file: 'routes.yaml', text: `${YAML}# new\n`, before: YAML, live: 0 },
  )
const isRefused = async (t: Test, folder: string, reason: RegExp) => {
  const files = readdirSync(folder)
  await t.rejects(save(folder), { code: 'FILE_NOT_WRITTEN', status: 409, message: reason })
  t.equal(readFileSync(join(folder, 'routes.yaml'), 'utf8'), YAML)
  t.same(readdirSync(folder), files)
}

t.test('save: a file in the way of the draft is the reason', async t => {
  const folder = t.testdir({ 'routes.yaml': YAML })
  mkdirSync(join(folder, `routes.yaml.${process.pid}.draft`))
  await isRefused(t, folder, /"routes\.yaml" could not be written: EEXIST.*Nothing was changed/)
})

t.test(
  'save: a folder that may not be written is the reason',
  {
    skip: process.getuid?.() === 0 && 'root may write everywhere',
  },
  async t => {
    const folder = t.testdir({ 'routes.yaml': YAML })
    chmodSync(folder, 0o500)
    t.teardown(() => chmodSync(folder, 0o700))
    await isRefused(t, folder, /EACCES/)
  },
)

t.test('save: replaces the file otherwise', async t => {
  const folder = t.testdir({ 'routes.yaml': YAML })
  await save(folder)
  t.equal(readFileSync(join(folder, 'routes.yaml'), 'utf8'), `${YAML}# new\n`)
})
