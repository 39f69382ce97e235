/** `tollgate doctor` and what a configuration names: receivers of telemetry, webhooks of guards,
 *  the journal, upstreams of models, rules and mirrors, and engines that list their models. */
import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { usedFolder } from '../../../helpers/cache.ts'
import { startTextUpstream } from '../../../helpers/gateway/chat-upstream.ts'
import { tollgate } from '../../../helpers/gateway/command-line.ts'
import { startS3 } from '../../../plugins/files/s3-server.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const CLOSED = 'http://127.0.0.1:1'
const SECRET = 'secret-of-a-receiver'

/** All of them in one server. `replies`: by path, in place of a good one. */
const startAll = async (t: Test) => {
  const replies = new Map<string, readonly [status: number, body: string]>()
  const requests: { readonly path: string; readonly body: string }[] = []
  const good: Readonly<Record<string, string>> = {
    '/v1/traces': '{}',
    '/decide': '{"action":"pass"}',
    '/v1/models': '{"data":[{"id":"one"},{"id":"two"},{"id":"three"}]}',
  }
  const url = await startTextUpstream(t, (body, response, request) => {
    const path = request.url ?? ''
    requests.push({ path, body })
    const isKnown = path !== '/v1/traces' || request.headers['api-key'] === SECRET
    const [status, text] = replies.get(path) ?? [isKnown ? 200 : 401, good[path] ?? '{}']
    response.writeHead(status).end(text)
  })
  return { url, replies, requests }
}

const routesOf = (folder: string, url: string) => `settings:
  plugins: ['${ROOT}plugins']
  data: '${folder}/data'
  listen: 127.0.0.1:0
  admin: 127.0.0.1:0
pipeline: [telemetry, auth, model, meter, translate, guard, journal, mirror]
telemetry: { to: [{ url: '${url}', headers: { api-key: ${SECRET} } }] }
guards: { decides: { webhook: '${url}/decide', do: block, on_error: block } }
journal: { to: 'file:calls', consent: all }
upstreams:
  up: { url: '${url}', key: sk-of-the-upstream, formats: [openai-chat] }
  own: { url: '${url}', formats: [openai-chat] }
models:
  m:
    to: up/one
    rules: [{ headers: { x-tier: free }, to: up/two }]
    mirror: { to: up/three, accounts: all }
    free: true
  own-*: { to: own/*, discover: {}, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, guard: decides }
`
const start = async (t: Test) => {
  const servers = await startAll(t)
  const folder = t.testdir({})
  usedFolder(`${folder}/data`)
  chmodSync(`${folder}/data`, 0o700)
  const diagnose = async (change = (yaml: string) => yaml) => {
    writeFileSync(`${folder}/routes.yaml`, change(routesOf(folder, servers.url)))
    const { code, out, err } = await tollgate(['doctor', '--json', '-c', `${folder}/routes.yaml`])
    if (out === '') throw new Error(err)
    const all = JSON.parse(out) as {
      readonly check: string
      readonly state: string
      readonly text: string
      readonly advice: string
    }[]
    t.notMatch(out, SECRET)
    return { code, all, bad: all.filter(({ state }) => state !== 'ok') }
  }
  return { ...servers, folder, diagnose }
}

t.test(
  'doctor: receivers, webhooks and upstreams that work are named, and nothing is left behind',
  async t => {
    const { diagnose, requests, folder } = await start(t)
    const { code, all } = await diagnose()
    t.same(
      all.filter(({ state }) => state !== 'ok'),
      [],
    )
    t.equal(code, 0)
    for (const check of [
      'configuration',
      'telemetry',
      'guards',
      'journal',
      'upstreams',
      'discover',
    ])
      t.ok(
        all.some(each => each.check === check),
        check,
      )
    t.same(readdirSync(`${folder}/data/calls`), [], 'nothing is written to the journal')
    const bodyOf = (path: string) =>
      JSON.parse(requests.find(each => each.path === path)?.body ?? '')
    t.same(bodyOf('/decide'), {
      guard: 'decides',
      request: null,
      model: null,
      on: 'request',
      texts: [],
    })
    t.match(bodyOf('/v1/traces'), { resourceSpans: [{ scopeSpans: [{ spans: [] }] }] })
    t.notOk(
      requests.some(({ path }) => path.includes('completions')),
      'no request that costs',
    )
  },
)

t.test('doctor: how many upstreams outside of the gateway answer', async t => {
  const { diagnose } = await start(t)
  const textOf = async (change?: (yaml: string) => string) =>
    (await diagnose(change)).all.find(({ check }) => check === 'upstreams')?.text
  t.equal(await textOf(), 'all 2 outside of the gateway answer')
  const one = (yaml: string) => yaml.replace(/^ {2}own(-\*)?: .*\n/gm, '')
  t.equal(await textOf(one), 'the one outside of the gateway answers')
  const inside = (yaml: string) =>
    one(yaml)
      .replace(/up: \{ url: '[^']*', key: [^,]*/, "up: { url: 'sandbox:'")
      .replace('mirror]', 'mirror, sandbox]')
  t.equal(await textOf(inside), 'none is outside of the gateway')
})

t.test('doctor: each of them that does not work, with what to do', async t => {
  const { diagnose, replies, url } = await start(t)
  type Case = readonly [
    check: string,
    state: string,
    text: RegExp,
    advice: RegExp,
    change: (yaml: string) => string,
    reply?: readonly [path: string, status: number, body: string],
  ]
  const same = (yaml: string) => yaml
  const cases: readonly Case[] = [
    [
      'telemetry',
      'failure',
      /401: refuses the key/,
      /`headers`/,
      yaml => yaml.replace(SECRET, 'x'),
    ],
    ['telemetry', 'failure', /404 to POST/, /`encoding`/, same, ['/v1/traces', 404, '']],
    [
      'telemetry',
      'failure',
      /ECONNREFUSED/,
      /is the receiver running/,
      yaml => yaml.replace(`url: '${url}', headers`, `url: '${CLOSED}', headers`),
    ],
    [
      'guards',
      'failure',
      /"decides".*ECONNREFUSED/,
      /are refused/,
      yaml => yaml.replace(`${url}/decide`, `${CLOSED}/decide`),
    ],
    ['guards', 'failure', /500 without an action/, /are refused/, same, ['/decide', 500, '']],
    [
      'guards',
      'failure',
      /not valid JSON/,
      /pass without its verdict/,
      yaml => yaml.replace('on_error: block', 'on_error: pass'),
      ['/decide', 200, '<html>'],
    ],
    [
      'journal',
      'failure',
      /^\/proc cannot be used: /,
      /journal\.to/,
      yaml => yaml.replace('file:calls', 'file:/proc'),
    ],
    [
      'upstreams',
      'failure',
      /up, http.*cannot be reached/,
      /`url` of the upstream "up"/,
      yaml => yaml.replace(`up: { url: '${url}'`, `up: { url: '${CLOSED}'`),
    ],
    [
      'upstreams',
      'warning',
      /^up lists no "two", "three"$/,
      /rules and mirrors/,
      same,
      ['/v1/models', 200, '{"data":[{"id":"one"}]}'],
    ],
    [
      'configuration',
      'failure',
      /has 1 problem$/,
      /tollgate check/,
      yaml => yaml.replace('to: up/one', 'to: op/one'),
    ],
  ]
  for (const [check, state, text, advice, change, [path, ...reply] = []] of cases) {
    replies.clear()
    if (path !== undefined) replies.set(path, reply as [number, string])
    const { bad, code } = await diagnose(change)
    t.match(bad, [{ check, state, text, advice }], `${check}: ${text}`)
    t.equal(bad.length, 1, JSON.stringify(bad))
    t.equal(code, state === 'failure' ? 1 : 0)
  }
  replies.clear()
  replies.set('/v1/models', [404, ''])
  const { bad } = await diagnose()
  t.match(bad, [{ check: 'discover', text: 'own lists no models', advice: /GET \/v1\/models/ }])
})

t.test('doctor: a bucket of the journal is written, listed and left as it was', async t => {
  const { diagnose } = await start(t)
  const s3 = await startS3(t)
  const { store: to, ...keys } = s3.settings
  const journal =
    (more: object = {}) =>
    (yaml: string) =>
      yaml.replace(/^journal:.*$/m, `journal: ${JSON.stringify({ to, ...keys, ...more })}`)
  t.same((await diagnose(journal())).bad, [])
  t.equal(s3.objects.size, 0)
  t.ok(s3.requests.some(each => each.startsWith('PUT')))
  const { bad } = await diagnose(journal({ secret_key: 'another' }))
  t.match(bad, [{ check: 'journal', state: 'failure', text: /403/, advice: /its key/ }])
  t.notMatch(JSON.stringify(bad), /another|endpoint=/)
})
