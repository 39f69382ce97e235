/** Compiling: reports all faults with places, and releases shared resources after a failure. */
import t from 'tap'
import { CompileError } from '../../../engine/config/compile/compile.ts'
import { errors } from '../../../engine/errors.ts'
import type { Host, Migration, Plugin } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import {
  compileSnapshot,
  faultsOf,
  freshResources,
  pluginOf,
} from '../../helpers/gateway/test-server.ts'

const UP = { up: { url: 'http://127.0.0.1:9' } }
const ROUTE = { path: 'GET /', upstream: 'up' }
/** A plugin that throws in `setup`. */
const throwing = (error: unknown, more: Partial<Plugin> = {}): Plugin => ({
  schema: {},
  setup() {
    throw error
  },
  ...more,
})
const optionFault = errors({ OPTION_WRONG: [500, '%s is not a colour'] })

t.test('compile: a route without upstream or responder is a fault at its place', async t => {
  const document = { upstreams: UP, routes: [ROUTE, { path: 'POST /unanswered' }] }
  t.same(await faultsOf({}, document), [
    {
      where: ['routes', 1],
      code: 'ROUTE_UNANSWERED',
      message:
        'the route "POST /unanswered" has no upstream; add one, or a plugin that responds or selects a target',
    },
  ])
  for (const stage of [{ answers: true }, { targets: true }])
    t.same(await faultsOf({ own: pluginOf(stage) }, { routes: [{ path: 'GET /' }] }), [])
})

t.test('compile: a plugin that throws in setup is named with place and stack', async t => {
  const plugins = { usual: throwing(new Error('no colour'), { default: {} }) }
  const expectedFault = { plugin: 'usual', code: 'PLUGIN_SETUP', message: 'no colour' }
  const stack = /compile\.test\.ts/
  t.match(await faultsOf(plugins, { upstreams: UP, routes: [ROUTE] }), [
    { ...expectedFault, where: ['routes', 0], stack },
  ])
  t.match(await faultsOf(plugins, { upstreams: UP, routes: [{ ...ROUTE, usual: 1 }] }), [
    { ...expectedFault, where: ['routes', 0, 'usual'], stack },
  ])
  const odd = throwing('just text', { default: {} })
  const faults = await faultsOf({ odd }, { routes: [{ path: 'GET /' }] })
  t.match(faults, [{ code: 'PLUGIN_SETUP', message: 'just text', stack: undefined }])
  t.equal(faults.length, 1, 'the failed stage may be the one that answers')
})

t.test('compile: a fault from setup keeps its code', async t => {
  const picky = throwing(optionFault('OPTION_WRONG', ['mud']))
  t.match(await faultsOf({ picky }, { upstreams: UP, routes: [{ ...ROUTE, picky: 'mud' }] }), [
    { where: ['routes', 0, 'picky'], code: 'OPTION_WRONG', message: 'mud is not a colour' },
  ])
})

t.test('compile: an invalid upstream address is a fault', async t => {
  const upstreams = {
    ...UP,
    far: { url: 'http://a:99999' },
    list: { url: ['http://a', 'http://['] },
  }
  t.match(await faultsOf({}, { upstreams, routes: [ROUTE] }), [
    {
      where: ['upstreams', 'far', 'url'],
      code: 'UPSTREAM_ADDRESS',
      message: /address of the upstream "far"/,
    },
    { where: ['upstreams', 'list', 'url'], code: 'UPSTREAM_ADDRESS' },
  ])
})

t.test('compile: a key that no header can carry is a fault', async t => {
  const url = 'http://a'
  const upstreams = {
    ...UP,
    quoted: { url, key: '“sk-1”' },
    broken: { url, key: ['sk-1', { key: 'sk-\n2' }] },
    latin: { url, key: 'sk-é' },
    query: { url, key: 'ключ', auth: { query: 'key' } },
  }
  const faults = await faultsOf({}, { upstreams, routes: [ROUTE] })
  t.match(faults, [
    { where: ['upstreams', 'quoted', 'key'], code: 'UPSTREAM_KEY', message: /no header can carry/ },
    { where: ['upstreams', 'broken', 'key'], code: 'UPSTREAM_KEY' },
  ])
  t.equal(faults.length, 2)
  t.notMatch(JSON.stringify(faults), 'sk-', 'no key is shown')
})

t.test('compile: an invalid egress_allow is a fault', async t => {
  const settings = { egress_allow: 'not an address' }
  t.match(await faultsOf({}, { settings, upstreams: UP, routes: [ROUTE] }), [
    { where: ['settings', 'egress_allow'] },
  ])
})

t.test('compile: reports all faults at once, also in the message', async t => {
  const plugins = { a: throwing(new Error('one')), b: throwing(optionFault('OPTION_WRONG', ['x'])) }
  const document = {
    upstreams: { bad: { url: 'http://[' } },
    routes: [
      { path: 'GET /a', a: 1 },
      { path: 'GET /b', b: 1, upstream: 'bad' },
    ],
  }
  const error = await compileSnapshot(plugins, document).then(
    () => undefined,
    cause => cause,
  )
  t.type(error, CompileError)
  t.same(
    (error as CompileError).faults.map(({ code }) => code),
    ['UPSTREAM_ADDRESS', 'PLUGIN_SETUP', 'OPTION_WRONG'],
  )
  t.match(
    (error as CompileError).message,
    /PLUGIN_SETUP: one\n.*\n?OPTION_WRONG: x is not a colour/,
  )
})

t.test('compile: releases shared resources after every failure', async t => {
  const closedResources: string[] = []
  const greedy: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      host.share('cache', '1', () => ({ close: () => closedResources.push('cache') }))
      host.job('sweep', 1_000, async () => {})
      return {}
    },
  }
  const resources = freshResources({
    jobs: {
      start: () => ({ wake() {}, stop: () => void closedResources.push('job') }),
      close: async () => {},
    } as never,
  })
  const bad = {
    'a route that no stage answers': { upstreams: UP, routes: [ROUTE, { path: 'GET /x' }] },
    'a plugin that throws': { upstreams: UP, routes: [ROUTE, { ...ROUTE, broken: 1 }] },
    'an invalid address': { upstreams: { ...UP, x: { url: 'http://[' } }, routes: [ROUTE] },
    'an unexpected error': { upstreams: UP, routes: [ROUTE, { ...ROUTE, ping: 'never' }] },
  }
  for (const [title, document] of Object.entries(bad)) {
    closedResources.length = 0
    const plugins = { greedy, broken: throwing(new Error('broken')) }
    await t.rejects(compileSnapshot(plugins, document, resources), title)
    t.equal(resources.shared.size, 0, title)
    t.ok(closedResources.includes('cache') && closedResources.includes('job'), title)
  }
})

t.test('compile: migrates tables before the first setup', async t => {
  const log: string[] = []
  const migrations: readonly Migration[] = [{ number: 1, text: 'CREATE …' }]
  const own: Plugin = {
    schema: {},
    default: {},
    migrations,
    setup() {
      log.push('setup')
      return { answers: true }
    },
  }
  const { database } = freshResources()
  const migrate = async (owner: string, list: readonly Migration[]): Promise<void> => {
    log.push(`${owner} ${list.length}`)
    if (owner === 'second') throw new Error('no such column')
  }
  const createResources = () =>
    freshResources({ database: { ...database, migrate } as typeof database })
  const resources = createResources()
  const document = { routes: [{ path: 'GET /' }] }
  await compileSnapshot({ own, plain: pluginOf({}) }, document, resources)
  t.same(log, [`standing ${MEMBERSHIP_TABLES.length}`, 'secrets 1', 'own 1', 'setup'])
  log.length = 0
  await compileSnapshot({ own, plain: pluginOf({}) }, document, resources)
  t.same(log, ['setup'], 'a reload asks the store for nothing')
  await compileSnapshot({ own: { ...own, migrations: [...migrations] } }, document, resources)
  t.same(log.slice(-2), ['own 1', 'setup'], 'a new list of migrations is migrated to')
  t.match(await faultsOf({ own, second: own }, document, resources), [
    { plugin: 'second', code: 'MIGRATION_FAILED', message: 'no such column' },
  ])
  const failingMigrate = async (owner: string): Promise<void> => {
    log.push(owner)
    throw Object.assign(new Error('ECONNREFUSED'), { code: 'STORE_START', status: 500 })
  }
  const failingResources = freshResources({
    database: { ...database, migrate: failingMigrate } as typeof database,
  })
  log.length = 0
  t.match(await faultsOf({ own, second: own }, document, failingResources), [
    {
      where: ['settings', 'database'],
      code: 'STORE_START',
      message: /^ECONNREFUSED; .*DATABASE_URL/,
    },
  ])
  t.same(log, ['standing'], 'an unavailable store is called once, and no plugin is at fault')
  t.same(await faultsOf({ own }, document), [], 'a store without migrations')

  log.length = 0
  const [first, last] = [
    { ...own, needs: ['own', 'last'] },
    { ...own, needs: ['own'] },
  ]
  await compileSnapshot({ first, own, last }, document, createResources())
  t.same(log.slice(2, 5), ['own 1', 'last 1', 'first 1'], 'the tables that others need come first')
  t.match(await faultsOf({ first, last }, document, resources), [
    {
      plugin: 'first',
      code: 'MIGRATION_FAILED',
      message: 'it needs the tables of the plugin "own", which is not installed',
    },
  ])
  const cycle = { one: { ...own, needs: ['two'] }, two: { ...own, needs: ['one'] } }
  t.same(await faultsOf(cycle, document, resources), [], 'cyclic needs end')
})

t.test('compile: members of the host of a plugin', async t => {
  const hosts: Host[] = []
  const recorder: Plugin = {
    schema: {},
    setup(options, host) {
      hosts.push(host)
      t.equal(options, 'own options')
      return { answers: true }
    },
  }
  const usual = pluginOf({}, { default: {} })
  const document = {
    upstreams: { up: { url: 'http://127.0.0.1:9', key: 'secret', formats: ['a'] } },
    catalogue: { a: 1 },
    routes: [{ path: 'POST /x/{id}', name: 'x', recorder: 'own options' }],
  }
  const files = { 'schemas/x.json': 'checked text' }
  const resources = freshResources()
  await compileSnapshot({ recorder, usual }, document, resources, files)
  const [host] = hosts as [Host]
  t.same(host.config, { version: 3, hash: 'h3', isTrial: true })
  t.match(host.route, { name: 'x', method: 'POST', pattern: '/x/{id}' })
  t.same(
    ['recorder', 'usual', 'other'].map(name => host.route.has(name)),
    [true, true, false],
  )
  t.same(host.section('catalogue'), { a: 1 })
  t.same(host.section('nothing'), {})
  t.same(host.upstreams, { up: { options: { formats: ['a'] } } }, 'neither address nor key')
  t.equal(host.file('schemas/x.json'), 'checked text', 'the text that was checked')
  t.match(host.file(import.meta.filename), /What a plugin/i, 'another file is read from the disk')
  t.equal(host.database, resources.database)
  t.equal(host.allowance('a', { concurrency: { amount: 1n } }).take('k', 1n), true)
})

t.test('compile: the host of a plugin cannot be used before the snapshot exists', async t => {
  const promises: Promise<unknown>[] = []
  const hasty: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      const request = { method: 'GET', path: '/', headers: {} }
      const turn = { after: 'x', id: 'x', request, slots: {}, targets: [] }
      promises.push(host.run('x', turn), host.send('up', request))
      for (const each of promises) each.catch(() => {})
      return { answers: true }
    },
  }
  await compileSnapshot({ hasty }, { routes: [{ path: 'GET /' }] })
  for (const each of promises) await t.rejects(each, { code: 'NOT_READY', status: 503 })
})
