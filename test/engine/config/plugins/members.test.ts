/** Members of plugins and stages are checked as strictly as YAML. */
import t from 'tap'
import {
  defaultFaults,
  pluginFault,
  stageFault,
} from '../../../../engine/config/plugins/members.ts'
import type { Plugin, Stage } from '../../../../engine/plugin.ts'
import { faultsOf, pluginOf } from '../../../helpers/gateway/test-server.ts'

const PLUGIN = { schema: {}, setup: () => ({}) }

t.test('plugin members: an unknown one is named, with the name that was meant', t => {
  t.equal(pluginFault(PLUGIN), undefined)
  t.match(pluginFault({ ...PLUGIN, comands: {} }), {
    message: 'has the unknown member "comands", which has no effect',
    suggestion: 'commands',
  })
  t.match(pluginFault({ ...PLUGIN, colour: 1, befor: [] }), { suggestion: 'before' })
  t.match(pluginFault({ ...PLUGIN, colour: 1 }), { message: /"colour"/, suggestion: undefined })
  t.end()
})

t.test('plugin members: one of the wrong type is named with its type', t => {
  const wrong: readonly (readonly [member: string, value: unknown, message: RegExp])[] = [
    ['schema', undefined, /"schema" to be an object/],
    ['setup', {}, /"setup" to be a function/],
    ['before', 'meter', /"before" to be an array of names/],
    ['credentialHeaders', ['a', 1], /"credentialHeaders" to be an array of names/],
    ['welcome', 'hello', /"welcome" to be a function/],
    ['admin', { top() {} }, /by `METHOD \/-\/path`/],
  ]
  for (const [member, value, message] of wrong)
    t.match(pluginFault({ ...PLUGIN, [member]: value }), { message }, member)
  t.match(pluginFault(undefined), { message: /must export an object/ })
  t.end()
})

t.test('stage members: a misspelled one is a problem, also of a class', t => {
  class Counting implements Stage {
    count = 0
    handle(): Promise<void> {
      return this.increase()
    }
    async increase(): Promise<void> {
      this.count++
    }
  }
  class Misspelled extends Counting {
    async foward(): Promise<void> {}
  }
  t.equal(stageFault({}), undefined)
  t.equal(stageFault(new Counting()), undefined, 'a class has members of its own')
  for (const _ of ['first', 'second'])
    t.match(stageFault(new Misspelled()), { suggestion: 'forward' }, 'each stage of a class')
  t.match(stageFault(Object.assign(new Counting(), { handle: 1 })), { message: /a function/ })
  t.match(stageFault({ handel() {} }), {
    message: 'has in its stage the unknown member "handel", which has no effect',
    suggestion: 'handle',
  })
  t.match(stageFault({ colour: 'red' }), { message: /"colour"/ })
  t.match(stageFault({ answers: 'yes' }), { message: /"answers" to be true or false/ })
  t.match(stageFault({ handle: true }), { message: /"handle" to be a function/ })
  t.match(stageFault(undefined), { message: /must return an object, the stage/ })
  t.end()
})

t.test('stage members: a fault of a stage is said once for all routes', async t => {
  const routes = [{ path: 'GET /a' }, { path: 'GET /b' }]
  const misspelled = pluginOf({ answers: true, handel() {} } as Stage)
  t.match(await faultsOf({ misspelled }, { routes }), [
    { plugin: 'misspelled', code: 'PLUGIN_STAGE', suggestion: 'handle', message: /"misspelled"/ },
  ])
  const throwing = pluginOf(
    {},
    {
      setup: () => {
        throw new Error('no colour')
      },
    },
  )
  const faults = await faultsOf({ throwing }, { routes })
  t.equal(faults.length, 1)
  t.match(faults, [{ plugin: 'throwing', code: 'PLUGIN_SETUP', message: 'no colour' }])
})

t.test('plugin members: a default must fit the schema of its plugin', t => {
  const plugin = (schema: object, value: unknown): Plugin => ({
    schema,
    default: value,
    setup: () => ({}),
  })
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: { size: { type: 'integer' } },
  }
  const plugins = new Map([
    ['fine', plugin(schema, { size: 1 })],
    ['bad', plugin({ type: 'integer' }, 'five')],
    ['deep', plugin(schema, { size: 'five' })],
    ['none', plugin({ type: 'integer' }, undefined)],
  ])
  t.same([...defaultFaults(plugins, t.testdir())].sort(), [
    ['bad', 'it must be integer'],
    ['deep', 'size must be integer'],
  ])
  t.end()
})
