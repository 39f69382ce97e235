/** Compiling: all faults at once with their places, and shared resources released after a failure.
 *  */

import t from 'tap'
import { CompileError } from '../../../engine/config/compile/compile.ts'
import { errors } from '../../../engine/errors.ts'
import type { Host, Migration, Plugin } from '../../../engine/plugin.ts'
import { MEMBERSHIP_TABLES } from '../../../engine/store/membership.ts'
import { compiled, faultsOf, freshResources } from '../../helpers/compiled.ts'
import { plugin } from '../../helpers/core.ts'

const UP = { up: { url: 'http://127.0.0.1:9' } }
const ROUTE = { path: 'GET /', upstream: 'up' }
/** Breaks in `setup`. */
const breaking = (thrown: unknown, more: Partial<Plugin> = {}): Plugin => ({
  schema: {},
  setup() {
    throw thrown
  },
  ...more,
})
const refused = errors({ OPTION_WRONG: [500, '%s is no colour'] })

t.test('compile: a route without upstream or responder is a fault at its place', async t => {
  const document = { upstreams: UP, routes: [ROUTE, { path: 'POST /nobody' }] }
  t.same(await faultsOf({}, document), [
    {
      where: ['routes', 1],
      code: 'ROUTE_UNANSWERED',
      message:
        'the route "POST /nobody" has no upstream; add one, or a plugin that responds or selects a target',
    },
  ])
  for (const stage of [{ answers: true }, { targets: true }])
    t.same(await faultsOf({ own: plugin(stage) }, { routes: [{ path: 'GET /' }] }), [])
})

t.test('compile: a plugin that throws in setup is named with place and stack', async t => {
  const plugins = { usual: breaking(new Error('no colour'), { default: {} }) }
  const said = { plugin: 'usual', code: 'PLUGIN_SETUP', message: 'no colour' }
  const stack = /compile\.test\.ts/
  t.match(await faultsOf(plugins, { upstreams: UP, routes: [ROUTE] }), [
    { ...said, where: ['routes', 0], stack },
  ])
  t.match(await faultsOf(plugins, { upstreams: UP, routes: [{ ...ROUTE, usual: 1 }] }), [
    { ...said, where: ['routes', 0, 'usual'], stack },
  ])
  const odd = breaking('just text', { default: {} })
  const found = await faultsOf({ odd }, { routes: [{ path: 'GET /' }] })
  t.match(found, [{ code: 'PLUGIN_SETUP', message: 'just text', stack: undefined }])
  t.equal(found.length, 1, 'it may have been the one to answer')
})

t.test('compile: a fault from setup keeps its code', async t => {
  const picky = breaking(refused('OPTION_WRONG', ['mud']))
  t.match(await faultsOf({ picky }, { upstreams: UP, routes: [{ ...ROUTE, picky: 'mud' }] }), [
    { where: ['routes', 0, 'picky'], code: 'OPTION_WRONG', message: 'mud is no colour' },
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

t.test('compile: an invalid egress_allow is a fault', async t => {
  const settings = { egress_allow: 'not an address' }
  t.match(await faultsOf({}, { settings, upstreams: UP, routes: [ROUTE] }), [
    { where: ['settings', 'egress_allow'] },
  ])
})

t.test('compile: reports all faults at once, also in the message', async t => {
  const plugins = { a: breaking(new Error('one')), b: breaking(refused('OPTION_WRONG', ['x'])) }
  const document = {
    upstreams: { bad: { url: 'http://[' } },
    routes: [
      { path: 'GET /a', a: 1 },
      { path: 'GET /b', b: 1, upstream: 'bad' },
    ],
  }
  const error = await compiled(plugins, document).then(
    () => undefined,
    thrown => thrown,
  )
  t.type(error, CompileError)
  t.same(
    (error as CompileError).faults.map(({ code }) => code),
    ['UPSTREAM_ADDRESS', 'PLUGIN_SETUP', 'OPTION_WRONG'],
  )
  t.match((error as CompileError).message, /PLUGIN_SETUP: one\n.*\n?OPTION_WRONG: x is no colour/)
})

t.test('compile: releases shared resources after every failure', async t => {
  const stopped: string[] = []
  const greedy: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      host.share('cache', '1', () => ({ close: () => stopped.push('cache') }))
      host.job('sweep', 1_000, async () => {})
      return {}
    },
  }
  const resources = freshResources({
    jobs: { start: () => () => void stopped.push('job'), close: async () => {} } as never,
  })
  const bad = {
    'a route nobody answers': { upstreams: UP, routes: [ROUTE, { path: 'GET /x' }] },
    'a plugin that breaks': { upstreams: UP, routes: [ROUTE, { ...ROUTE, broken: 1 }] },
    'an address that is none': { upstreams: { ...UP, x: { url: 'http://[' } }, routes: [ROUTE] },
    'a fault nobody foresaw': { upstreams: UP, routes: [ROUTE, { ...ROUTE, ping: 'never' }] },
  }
  for (const [what, document] of Object.entries(bad)) {
    stopped.length = 0
    const plugins = { greedy, broken: breaking(new Error('broken')) }
    await t.rejects(compiled(plugins, document, resources), what)
    t.equal(resources.shared.size, 0, what)
    t.ok(stopped.includes('cache') && stopped.includes('job'), what)
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
  const resources = freshResources({ database: { ...database, migrate } as typeof database })
  const document = { routes: [{ path: 'GET /' }] }
  await compiled({ own, plain: plugin({}) }, document, resources)
  t.same(log, [`standing ${MEMBERSHIP_TABLES.length}`, 'own 1', 'setup'])
  t.match(await faultsOf({ own, second: own }, document, resources), [
    { plugin: 'second', code: 'MIGRATION_FAILED', message: 'no such column' },
  ])
  const away = async (owner: string): Promise<void> => {
    log.push(owner)
    throw Object.assign(new Error('ECONNREFUSED'), { code: 'STORE_START', status: 500 })
  }
  const lost = freshResources({ database: { ...database, migrate: away } as typeof database })
  log.length = 0
  t.match(await faultsOf({ own, second: own }, document, lost), [
    {
      where: ['settings', 'database'],
      code: 'STORE_START',
      message: /^ECONNREFUSED; .*DATABASE_URL/,
    },
  ])
  t.same(log, ['standing'], 'a store that is away is asked once, and is to blame')
  t.same(await faultsOf({ own }, document), [], 'a store that has no tables makes none')

  log.length = 0
  const [first, last] = [
    { ...own, needs: ['own', 'last'] },
    { ...own, needs: ['own'] },
  ]
  await compiled({ first, own, last }, document, resources)
  t.same(log.slice(1, 4), ['own 1', 'last 1', 'first 1'], 'those that others stand on come first')
  t.match(await faultsOf({ first, last }, document, resources), [
    {
      plugin: 'first',
      code: 'MIGRATION_FAILED',
      message: 'it needs the tables of the plugin "own", which is not installed',
    },
  ])
  const round = { one: { ...own, needs: ['two'] }, two: { ...own, needs: ['one'] } }
  t.same(await faultsOf(round, document, resources), [], 'a circle ends')
})

t.test('compile: members of the host of a plugin', async t => {
  const hosts: Host[] = []
  const lending: Plugin = {
    schema: {},
    setup(options, host) {
      hosts.push(host)
      t.equal(options, 'own options')
      return { answers: true }
    },
  }
  const usual = plugin({}, { default: {} })
  const document = {
    upstreams: { up: { url: 'http://127.0.0.1:9', key: 'secret', formats: ['a'] } },
    catalogue: { a: 1 },
    routes: [{ path: 'POST /x/{id}', name: 'x', lending: 'own options' }],
  }
  const files = { 'schemas/x.json': 'checked text' }
  const resources = freshResources()
  await compiled({ lending, usual }, document, resources, files)
  const [host] = hosts as [Host]
  t.same(host.config, { version: 3, hash: 'h3' })
  t.match(host.route, { name: 'x', method: 'POST', pattern: '/x/{id}' })
  t.same(
    ['lending', 'usual', 'other'].map(name => host.route.has(name)),
    [true, true, false],
  )
  t.same(host.section('catalogue'), { a: 1 })
  t.same(host.section('nothing'), {})
  t.same(host.upstreams, { up: { options: { formats: ['a'] } } }, 'neither address nor key')
  t.equal(host.file('schemas/x.json'), 'checked text', 'the text that was checked')
  t.match(host.file(import.meta.filename), /What a plugin/i, 'or as it stands on the disk')
  t.equal(host.database, resources.database)
  t.equal(host.allowance('a', { concurrency: { amount: 1n } }).take('k', 1n), true)
})

t.test('compile: the host of a plugin cannot be used before the snapshot exists', async t => {
  const rejected: Promise<unknown>[] = []
  const hasty: Plugin = {
    schema: {},
    default: {},
    setup(_, host) {
      const request = { method: 'GET', path: '/', headers: {} }
      const turn = { after: 'x', id: 'x', request, slots: {}, targets: [] }
      rejected.push(host.run('x', turn), host.send('up', request))
      for (const each of rejected) each.catch(() => {})
      return { answers: true }
    },
  }
  await compiled({ hasty }, { routes: [{ path: 'GET /' }] })
  for (const each of rejected) await t.rejects(each, { code: 'NOT_READY', status: 503 })
})
