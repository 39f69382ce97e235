/** Messages for mistakes of people who know other gateways, and for values with one wrong part. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const PLUGINS = join(import.meta.dirname, '../../../plugins')
const messagesOf = async (
  t: Test,
  routes: string,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> => {
  const folder = t.testdir({
    'routes.yaml': `settings: { data: '${t.testdirName}/data', plugins: ['${PLUGINS}'] }\n${routes}`,
  })
  usedFolder(join(folder, 'data'))
  const { out } = await tollgate(['check', '--json', '-c', join(folder, 'routes.yaml')], env)
  const { problems } = JSON.parse(out) as { problems: readonly { readonly message: string }[] }
  return problems.map(({ message }) => message)
}
const ROUTE = 'routes: [{ path: GET /a, upstream: main }]'
const UP = 'upstreams: { main: { url: http://127.0.0.1:9 } }'

t.test('messages: a word of another gateway gets the key of this one', async t => {
  const words: Readonly<Record<string, RegExp>> = {
    fallbacks: /`upstream:`/,
    caching: /`cache: exact`/,
    rate_limit: /`limit: \{ requests: 60\/min \}`/,
    rpm: /`limit:/,
    alias: /`models:`/,
    max_budget: /--quota 5000000\/month/,
    retry: /`retries: 2`/,
    weight: /weight: 3/,
    tls: /settings\.tls/,
    certificate: /settings\.tls/,
    ssl_verify: /settings\.tls/,
    service: /`upstream: NAME`/,
    proxy_pass: /`upstream: NAME`/,
    strip_path: /`rewrite:/,
    http_proxy: /`proxy: http/,
    x_forwarded_for: /`settings\.trusted_proxies:/,
  }
  const keys = Object.keys(words).map(word => `${word}: 1`)
  const messages = await messagesOf(
    t,
    `${UP}\nroutes: [{ path: GET /a, upstream: main, ${keys.join(', ')} }]`,
  )
  for (const [word, hint] of Object.entries(words)) {
    const message = messages.find(each => each.includes(`"${word}"`))
    t.match(message, hint, word)
  }
  const [plain] = await messagesOf(
    t,
    `${UP}\nroutes: [{ path: GET /a, upstream: main, whatever: 1 }]`,
  )
  t.equal(plain, 'unknown key "whatever" in routes[0]')
})

t.test('messages: a wrong indentation says what to do', async t => {
  const wrong = async (...lines: string[]) => (await messagesOf(t, [UP, ...lines].join('\n')))[0]
  t.match(
    await wrong('routes:', '    - path: GET /a', '   - path: GET /b'),
    /^the indentation is wrong: the keys of a map begin in one column/,
  )
  t.match(
    await wrong('routes:', '  - path: GET /a', '    upstream: main', '  name: a'),
    /^the indentation is wrong: .*, as do the dashes of a list/,
  )
  t.match(
    await wrong('routes:', '  - path: GET /a', '    retry_on:', '      - 500', '   name: a'),
    /^an item of this list must begin with "- " in the column of the others; indent this line/,
  )
  t.match(
    await wrong('routes:', '  - path: GET /a', '\tupstream: main'),
    /tab/,
    'a tab is named as such',
  )
})

t.test('messages: an unknown upstream without a neighbour gets the list', async t => {
  const [message] = await messagesOf(t, `${UP}\nroutes: [{ path: GET /a, upstream: openai }]`)
  t.equal(message, 'no upstream is named "openai"; `upstreams:` has main')
})

t.test('messages: a path says which of its parts is wrong', async t => {
  const wrong = async (path: string) =>
    (await messagesOf(t, `${UP}\nroutes: [{ path: '${path}', upstream: main }]`))[0]
  t.match(await wrong('POTS /a'), /; POTS is not a method, did you mean POST\?; write it like/)
  t.match(await wrong('FETCHING /a'), /; FETCHING is not a method; write it like/)
  t.match(await wrong('GET  /a'), /; one space separates method and path; write it like/)
  t.match(await wrong('/a'), /; it begins with a method \(GET, HEAD, POST/)
  t.match(await wrong('GET a'), /; its path begins with \/; write it like/)
})

t.test('messages: a wrong value of a variable names the variable, not the value', async t => {
  const routes = `upstreams: { main: { url: '\${UP:-sandbox:}' } }\n${ROUTE}`
  const [message] = await messagesOf(t, routes, { UP: 'api.example.com/v1' })
  t.match(message, /^upstreams\.main\.url cannot be the value of UP; write it like/)
  const [hidden] = await messagesOf(t, routes, { UP: 'user:secret-word@api.example.com' })
  t.notMatch(hidden, /secret-word/)
})

t.test('messages: a missing file gets the name of the one beside it', async t => {
  const folder = t.testdir({ 'routes.yml': ROUTE })
  const { err } = await tollgate(['check', '-c', join(folder, 'routes.yaml')])
  t.match(err, /CONFIG_MISSING.*did you mean "routes\.yml"/)
  const command = await tollgate(['accounts', 'list', '-c', join(folder, 'nope.yaml')])
  t.equal(command.code, 1)
  t.match(command.err, /CONFIG_MISSING/)
})
