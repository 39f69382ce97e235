/** A key of an upstream that dies under load: no call fails, and the operator sees which one. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { postChat } from '../../helpers/gateway/post.ts'
import { forkProgram } from '../../helpers/operator.ts'

const CALLS = 600
const AT_ONCE = 24
const EJECTED = /"address":"http:\/\/127\.0\.0\.1:1","ms":3600000/

const upstream = forkProgram(new URL('../../fixtures/upstream/key-server.ts', import.meta.url))
const [{ port }] = (await once(upstream, 'message')) as [{ readonly port: number }]
const url = `http://127.0.0.1:${port}`
const count = async () => (await (await fetch(`${url}/count`)).json()) as Record<string, number>

const routes = `
pipeline: [errors, model, translate, sandbox]
upstreams:
  up: { url: '${url}', key: ['\${FIRST_KEY}', '\${SECOND_KEY}'], formats: [openai-chat] }
  down: { title: Far away, url: 'http://127.0.0.1:1', health: { failures: 2, eject: 1h } }
  own: { url: 'sandbox:' }
models:
  m: { to: up/m, free: true }
  lost: { to: down/m, free: true }
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat, errors: openai }
`
const env = { FIRST_KEY: 'sk-first-key', SECOND_KEY: 'sk-second-key' }
const KEYS = Object.values(env)
const gateway = await startGateway({ routes, env: { ...env, WORKERS: '2' } })
t.teardown(async () => {
  await gateway.stop()
  upstream.kill()
})
const post = async (model = 'm') => {
  const reply = await postChat(gateway.url, model)
  return { status: reply.status, text: await reply.text() }
}
const metrics = async (): Promise<string> => (await fetch(`${gateway.admin}/metrics`)).text()

/** A command with the configuration of the gateway, and by default with its environment. */
const command = async (...args: readonly string[]) => commandIn(env, ...args)
const commandIn = async (
  variables: Readonly<Record<string, string>>,
  ...args: readonly string[]
) => {
  const folder = t.testdirName
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'routes.yaml')
  const plugins = fileURLToPath(new URL('../../../plugins', import.meta.url))
  writeFileSync(config, `settings: { data: '${gateway.data}', plugins: ['${plugins}'] }\n${routes}`)
  return tollgate([...args, '-c', config], variables)
}

t.test('upstream keys: a key that dies under load fails no call', async t => {
  const statuses: Record<string, number> = {}
  let started = 0
  const client = async (): Promise<void> => {
    while (started < CALLS) {
      if (++started === CALLS / 3) {
        upstream.send({ refuse: KEYS[0] })
        await once(upstream, 'message')
      }
      const { status } = await post()
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client))
  t.same(statuses, { 200: CALLS })
  const uses = await count()
  const refusals = uses[`${KEYS[0]} 401`] ?? 0
  t.ok(refusals >= 1, 'the key was refused')
  t.ok(refusals <= 2 * AT_ONCE, `then left out: ${refusals} refusals`)
  t.equal((uses[`${KEYS[0]} 200`] ?? 0) + (uses[`${KEYS[1]} 200`] ?? 0), CALLS)
})

const TIME = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z'
t.test('upstream keys: log, metrics and `tollgate upstreams` show it without the key', async t => {
  const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => post('lost')))
  t.ok(replies.every(({ status }) => status === 502))
  // Log lines come a moment after the answers.
  await eventually(async () => EJECTED.test(gateway.output()) || undefined)
  const name = /"key":"([0-9a-f]{12})"/.exec(gateway.output())?.[1]
  t.match(gateway.output(), /"key":"[0-9a-f]{12}","ms":60000.*the upstream refused it/)
  const series = `tollgate_key_rests_total{address="${url}",key="${name}",reason="refused"}`
  const text = await metrics()
  t.match(text, `${series} `)
  t.match(text, /^tollgate_ejections_total\{address="http:\/\/127\.0\.0\.1:1"\} [1-9]/m)

  const { code, out } = await command('upstreams')
  t.equal(code, 0)
  t.match(out, /^upstream +title +address +state +since +busy +conversations +keys$/m)
  t.match(
    out,
    new RegExp(
      `^up +up +${url} +ready +- +0 +- +${name} resting since ${TIME} \\d+ s, [0-9a-f]{12} ready$`,
      'm',
    ),
  )
  t.match(
    out,
    new RegExp(`^down +Far away +http://127\\.0\\.0\\.1:1 +ejected +${TIME} +0 +- +-$`, 'm'),
  )
  t.match(out, /^own +own +sandbox: +ready +- +0 +- +-$/m)
  const json = JSON.parse((await command('upstreams', 'list', '--json')).out) as object
  t.match(json, {
    up: {
      addresses: [{ since: null }],
      keys: [
        { key: name, state: 'resting', since: new RegExp(TIME) },
        { state: 'ready', since: null },
      ],
    },
    down: { keys: [] },
  })
  const all = gateway.output() + text + out + JSON.stringify(json)
  for (const key of KEYS) t.notOk(all.includes(key))
})

t.test('routes and /-/config: show the upstreams that models lead to', async t => {
  const { code, out } = await command('routes')
  t.equal(code, 0)
  t.match(out, /^POST +\/v1\/chat\/completions +errors model translate sandbox +down up$/m)
  const config = (await (await gateway.askAdmin('/-/config')).json()) as object
  t.match(config, {
    routes: ['POST /v1/chat/completions'],
    upstreams: [{ name: 'up', hosts: [new URL(url).host] }, { name: 'down' }, { name: 'own' }],
  })
})

t.test('upstreams test: asks for models with each key, and says which is refused', async t => {
  const { code, out, err } = await command('upstreams', 'test')
  t.equal(code, 3)
  t.equal(err, '')
  t.match(out, /^up +http:\S+ +[0-9a-f]{12} +401: refuses the key$/m)
  t.match(out, /^up +http:\S+ +[0-9a-f]{12} +200: 2 models$/m)
  t.match(out, /^down +\S+ +- +The upstream down cannot be reached\.$/m)
  t.match(out, /^own +sandbox: +- +inside the gateway$/m)
  t.match(await command('upstreams', 'test', 'own'), { code: 0 })
  t.match(await command('upstreams', 'test', 'dwon'), {
    code: 3,
    err: 'there is no upstream named "dwon"; did you mean "down"?',
  })
  t.match(await command('upstreams', 'nothing'), { code: 2 })
})

t.test(
  'upstreams test: a shell without the variables asks with the keys of the gateway',
  async t => {
    t.match(await commandIn({}, 'check'), { code: 1, out: '', err: /VARIABLE_UNSET/ })
    t.same(await commandIn({}, 'upstreams', 'test'), await command('upstreams', 'test'))
    t.match(await commandIn({}, 'upstreams'), { code: 0, out: /^down +Far away +http/m })
  },
)

t.test('upstreams: needs a running gateway, and says so', async t => {
  await gateway.stop()
  t.match(await command('upstreams'), { code: 3, err: /start a gateway: tollgate start/ })
})

t.test('upstreams test: without a gateway, says that it uses its own environment', async t => {
  const { code, out } = await command('upstreams', 'test')
  t.match(out, /^up +http:\S+ +[0-9a-f]{12} +200: 2 models$/m)
  t.match(out, /^No gateway of this data folder is running: .* environment .* of this command\.$/m)
  t.equal(code, 3)
  t.notMatch((await command('upstreams', 'test', '--json')).out, /No gateway/)
  t.match(await commandIn({}, 'upstreams', 'test'), { code: 1, err: /VARIABLE_UNSET/ })
})
