/** The record of the version that went live last: a start whose inputs are unchanged serves it. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  type Inputs,
  readStartRecord,
  saveStartRecord,
} from '../../../engine/processes/builder/start-record.ts'
import type { BuiltVersion } from '../../../engine/processes/messages.ts'
import { eventually, startPrimary } from '../../helpers/gateway/primary.ts'
import { inMemory } from '../../helpers/in-memory.ts'

const VERSION = {
  type: 'built',
  version: 3,
  secrets: ['sk-secret-value'],
} as unknown as BuiltVersion

/** A saved record, and a function that reads it. */
const saved = (t: Test) => {
  const folder = t.testdir({ 'routes.yaml': 'a: 1', models: { 'one.yaml': 'b: 2' }, 'p.ts': 'x' })
  const [config, plugin] = [join(folder, 'routes.yaml'), join(folder, 'p.ts')]
  process.env.RECORDED_KEY = 'sk-secret-value'
  const inputs: Inputs = {
    texts: [config, join(folder, 'missing.yaml')],
    lists: [['models/*.yaml', folder]],
    variables: ['RECORDED_KEY', 'RECORDED_UNSET'],
    sources: [],
  }
  const text = (path: string) => (path === config ? 'a: 1' : undefined)
  const cache = join(folder, 'cache')
  saveStartRecord(config, cache, { inputs, text }, VERSION)
  return { folder, config, cache, plugin, inputs, text, read: () => readStartRecord(config, cache) }
}

t.test('start record: it opens while nothing has changed, and holds no secret', async t => {
  const { cache, read } = saved(t)
  t.same(read(), VERSION)
  const [file = ''] = readdirSync(cache)
  t.notMatch(readFileSync(join(cache, file), 'utf8'), 'sk-secret-value')
})

const CHANGES: Readonly<Record<string, (folder: string) => void>> = {
  'an edited file': folder => writeFileSync(join(folder, 'routes.yaml'), 'a: 2'),
  'a removed file': folder => rmSync(join(folder, 'routes.yaml')),
  'a file that was missing': folder => writeFileSync(join(folder, 'missing.yaml'), ''),
  'one more file of a pattern': folder => writeFileSync(join(folder, 'models/two.yaml'), ''),
  'a changed variable': () => Object.assign(process.env, { RECORDED_KEY: 'sk-other' }),
  'a variable that was not set': () => Object.assign(process.env, { RECORDED_UNSET: '' }),
  'a damaged record': folder => {
    const [file = ''] = readdirSync(join(folder, 'cache'))
    const path = join(folder, 'cache', file)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"encrypted":"', '"encrypted":"AAAA'))
  },
}
for (const [name, change] of Object.entries(CHANGES))
  t.test(`start record: ${name} closes it`, async t => {
    t.teardown(() => delete process.env.RECORDED_UNSET)
    const { folder, read } = saved(t)
    change(folder)
    t.equal(read(), undefined)
  })

t.test('start record: a plugin source that may have changed leaves none', async t => {
  const { config, cache, plugin, inputs, text, read } = saved(t)
  saveStartRecord(config, cache, { inputs: { ...inputs, sources: [plugin] }, text }, VERSION)
  t.equal(read(), undefined, 'its change time is too recent')
})

/** Each setup appends the name of its process to a file. */
const PLUGIN = `import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
export default { schema: {}, setup() {
  appendFileSync(process.env.ORDER, basename(process.argv[1]).split('.')[0] + '\\n')
  return { answers: true, handle() {} }
} }`
const ROUTES = 'pipeline: [order]\nroutes:\n  - { path: GET /a, order: {} }\n'
/** ms after which the times of a source prove its content. */
const SETTLED = 2_100

t.test('start record: an unchanged start serves at once; an edit is built first', async t => {
  const folder = mkdtempSync(join(inMemory(), 'tollgate-'))
  const order = join(folder, 'order')
  mkdirSync(join(folder, 'plugins'))
  writeFileSync(join(folder, 'routes.yaml'), ROUTES)
  writeFileSync(join(folder, 'plugins/order.ts'), PLUGIN)
  await setTimeout(SETTLED)
  const setups = () => readFileSync(order, 'utf8').trim().split('\n')
  /** The process that set up the plugin first. */
  const startAndStop = async (until: () => boolean) => {
    writeFileSync(order, '')
    const { child, exitCode } = await startPrimary(t, { files: {}, env: { ORDER: order }, folder })
    const [first] = setups()
    await eventually(until)
    child.kill('SIGTERM')
    t.equal(await exitCode(), 0)
    return first
  }
  const isServed = () => setups().includes('worker')
  t.equal(await startAndStop(isServed), 'builder', 'the first start')
  const isBuilt = () => setups().includes('builder')
  t.equal(await startAndStop(isBuilt), 'worker', 'an unchanged start, which builds later')
  writeFileSync(join(folder, 'routes.yaml'), ROUTES.replace('/a', '/b'))
  t.equal(await startAndStop(isServed), 'builder', 'an edited file')
})
