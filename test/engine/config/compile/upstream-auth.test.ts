/** `auth:` of an upstream that names a plugin: its options, its host, its order, its refusals. */
import t from 'tap'
import { assembleSchema } from '../../../../engine/config/schema.ts'
import { createValidator } from '../../../../engine/config/validation/validator.ts'
import { errors } from '../../../../engine/errors.ts'
import type { Document, Plugin } from '../../../../engine/plugin.ts'
import {
  faultsOf,
  pluginOf,
  startHttpUpstream,
  startTestServer,
} from '../../../helpers/gateway/test-server.ts'

type Setup = NonNullable<Plugin['auth']>['setup']
const signer = (setup: Setup, schema: object = {}): Plugin =>
  pluginOf({}, { auth: { schema, setup } })
const documentOf = (url: string, auth: unknown): Document =>
  ({
    upstreams: { up: { url, auth } },
    routes: [{ path: 'GET /{id}', upstream: 'up' }],
  }) as Document

t.test('upstream auth: the plugin signs once per request, before the stages that sign', async t => {
  const requests: unknown[] = []
  const url = await startHttpUpstream(t, ({ url, headers }, response) => {
    requests.push([url, headers.authorization, headers['x-copy']])
    response.end()
  })
  const method = signer((options, { upstream, config }) => ({ headers }) => {
    headers.authorization = `${JSON.stringify(options)} ${upstream} ${config.version}`
  })
  const copying = pluginOf({
    sign({ headers }) {
      headers['x-copy'] = headers.authorization ?? ''
    },
  })
  const document = documentOf(url, { method: { word: 'a' } })
  const core = await startTestServer(t, { copying, method }, document)
  t.equal((await fetch(`${core.url}/x`)).status, 200)
  const credential = '{"word":"a"} up 1'
  t.same(requests, [['/x', credential, credential]])
})

t.test('upstream auth: what the plugin refuses is a problem at its options', async t => {
  const fault = errors({ OWN_REFUSAL: [500, 'the word "%s" is unknown'] })
  const throwing = signer(() => {
    throw new TypeError('no word')
  })
  const refusing = signer(() => {
    throw fault('OWN_REFUSAL', ['b'])
  })
  const where = ['upstreams', 'up', 'auth', 'method']
  const url = 'http://127.0.0.1:1'
  t.match(await faultsOf({ method: throwing }, documentOf(url, { method: {} })), [
    { where, plugin: 'method', code: 'PLUGIN_SETUP', message: 'no word' },
  ])
  t.match(await faultsOf({ method: refusing }, documentOf(url, { method: {} })), [
    { where, plugin: 'method', code: 'OWN_REFUSAL', message: 'the word "b" is unknown' },
  ])
})

t.test(
  'upstream auth: the schema accepts the options of plugins, and the ways of the engine',
  async t => {
    const method = signer(() => () => {}, { description: 'A word.', type: 'string' })
    const header = signer(() => () => {}, { description: 'Not used.', type: 'number' })
    const plugins = new Map([
      ['method', method],
      ['header', header],
    ])
    const { validate } = createValidator(plugins, [], t.testdir())
    const accepts = (auth: unknown): boolean =>
      validate({ ...documentOf('https://up.test', auth), pipeline: [] }).errors.length === 0
    for (const auth of ['bearer', 'none', { method: 'a' }, { header: 'x-key' }, { query: 'key' }])
      t.ok(accepts(auth), JSON.stringify(auth))
    for (const auth of ['basic', {}, { method: 1 }, { header: 5 }, { query: 'a', method: 'a' }])
      t.notOk(accepts(auth), JSON.stringify(auth))
    t.match(JSON.stringify(assembleSchema(plugins)), '"method":{"description":"A word."')
  },
)

t.test('upstream auth: an invalid schema is found, with its plugin', async t => {
  const broken = signer(() => () => {}, { type: 'nonsense' })
  const { schemaErrors } = createValidator(new Map([['method', broken]]), [], t.testdir())
  t.match(schemaErrors.get('method'), /^auth/)
})
