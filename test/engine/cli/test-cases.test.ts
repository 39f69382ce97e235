/** `tollgate test`: cases pass and fail with a diff, at sandbox and given upstreams. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { differencesOf } from '../../../engine/cli/cases/compare.ts'
import { CODE_ENV, usedFolder } from '../../helpers/cache.ts'
import { answerChat, listen, startTextUpstream } from '../../helpers/gateway/chat-upstream.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { operatorEnv } from '../../helpers/operator.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** A data folder with the bundles of the tests. */
const dataFolder = usedFolder(join(mkdtempSync(join(tmpdir(), 'tollgate-cases-')), 'data'))
t.teardown(() => rmSync(dirname(dataFolder), { recursive: true }))
const env = {
  // As below an old Node, which is the parent of the command and not of its gateway.
  TOLLGATE_CHANGED_RUNTIME: '1',
  ...operatorEnv(),
  ...CODE_ENV,
  TOLLGATE_CONFIG: `${ROOT}routes.yaml`,
  TOLLGATE_DATA: dataFolder,
} as Record<string, string>

t.test('test: the documented cases pass against the shipped configuration', async t => {
  // A temporary folder of its own: other tests run throw-away gateways at the same time.
  const { TMPDIR } = process.env
  process.env.TMPDIR = temporaryFolder(t)
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  const result = await tollgate(['test', `${ROOT}examples/routes.test.yaml`], env)
  t.match(result, { code: 0, out: /3 passed, 0 failed$/ }, result.err)
  t.same(readdirSync(tmpdir()), [], 'nothing is left of the gateway')
  t.notOk(existsSync(`${ROOT}data/tollgate.db-test`))
})

t.test('test: a failing case shows what was expected and received, and exits 1', async t => {
  const url = await startTextUpstream(t, (text, response) => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    return answerChat(text, response, { pieces: ['Hi'], usage })
  })
  const file = `${temporaryFolder(t)}/cases.yaml`
  const request =
    '{ POST: /v1/chat/completions, body: { model: gp-4.1, messages: [{ role: user, content: Hello }] } }'
  writeFileSync(
    file,
    `upstreams: { gp: '${url}' }
cases:
  - { name: charged, request: ${request}, expect: { status: 200, charge: 0.000432, body: { choices: [{ message: { content: Hi } }] } } }
  - { name: wrong, request: ${request}, expect: { status: 201, charge: 3, headers: { content-type: text/plain }, pointers: { /choices/0/message/content: Bye } } }
`,
  )
  const { code, out } = await tollgate(['test', file], env)
  t.equal(code, 1)
  t.match(out, /^ok {6}charged$/m)
  t.match(out, /^FAILED {2}wrong \(POST \/v1\/chat\/completions\)$/m)
  t.match(out, / {2}status\n {4}\+ expected 201\n {4}- received 200/)
  t.match(out, / {2}charge\n {4}\+ expected "3"\n {4}- received "0\.000432"/)
  t.match(out, / {2}\/choices\/0\/message\/content\n {4}\+ expected "Bye"\n {4}- received "Hi"/)
  t.match(out, /1 passed, 1 failed$/)
})

t.test('test: a signal ends the gateway and removes its folder', async t => {
  const upstream = createServer()
  const port = await listen(t, upstream)
  const [folder, TMPDIR] = [temporaryFolder(t), temporaryFolder(t)]
  const request =
    '{ POST: /v1/chat/completions, body: { model: gp-4.1, messages: [{ role: user, content: Hello }] } }'
  writeFileSync(
    `${folder}/cases.yaml`,
    `upstreams: { gp: 'http://127.0.0.1:${port}' }
cases: [{ request: ${request}, expect: { status: 200 } }]
`,
  )
  const isAsked = once(upstream, 'request')
  const child = spawn(process.execPath, [`${ROOT}engine/cli.ts`, 'test', `${folder}/cases.yaml`], {
    env: { ...env, TMPDIR },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  await Promise.race([isAsked, exit])
  const [name = ''] = readdirSync(TMPDIR)
  const { pid } = JSON.parse(readFileSync(join(TMPDIR, name, 'data/run.json'), 'utf8'))
  child.kill('SIGTERM')
  t.same(await exit, [143, null])
  t.same(readdirSync(TMPDIR), [])
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

t.test(
  'test: a file that is missing or of the wrong shape is refused before a gateway starts',
  async t => {
    const file = `${temporaryFolder(t)}/cases.yaml`
    t.match(await tollgate(['test', file], env), { code: 2, err: /cannot read the cases/ })
    const refusals = {
      'cases: [': /cases\.yaml:\d+: /,
      'case: []': /needs a list `cases:`/,
      'cases: [{ request: { POST: /a } }]': /case 1 needs `request` and `expect`/,
      'cases: [{ request: { PSOT: /a }, expect: {} }]': /unknown key "PSOT"/,
      'cases: [{ request: { POST: /a }, expect: { stats: 200 } }]': /unknown key "stats"/,
    }
    for (const [text, message] of Object.entries(refusals)) {
      writeFileSync(file, text)
      const { code, err } = await tollgate(['test', file], env)
      t.not(code, 0)
      t.match(err, message)
    }
  },
)

t.test('test: compares subsets, pointers and expressions', t => {
  const received = {
    status: 200,
    headers: { 'x-a': 'one two' },
    text: '{"a":{"b/c":[1,{"d":"long text"}]},"n":null}',
  }
  const places = (expect: Parameters<typeof differencesOf>[0]) =>
    differencesOf(expect, received).map(({ at }) => at)
  t.same(
    places({ body: { a: { 'b/c': [1, { d: '/^long/' }] } }, headers: { 'x-a': '/two$/' } }),
    [],
  )
  t.same(places({ body: { a: { 'b/c': [1] } } }), ['/a/b~1c'], 'lists have the expected length')
  t.same(places({ pointers: { '/a/b~1c/1/d': 'long text', '/n': null } }), [])
  t.same(places({ pointers: { '/a/x': 1 }, headers: { 'x-b': 'c' } }), ['header x-b', '/a/x'])
  t.same(places({ body: { missing: null } }), ['/missing'])
  t.same(places({ body: 'text' }), ['body'])
  t.same(places({ status: 204, charge: '0.5' }), ['status', 'charge'])
  t.same(places({ pointers: { '/n/x': 1 } }), ['/n/x'], 'a value has no members')
  const plain = { status: 200, headers: { 'x-tollgate-charge': '0.50' }, text: 'x'.repeat(500) }
  const plainPlaces = (expect: Parameters<typeof differencesOf>[0]) =>
    differencesOf(expect, plain).map(({ at }) => at)
  t.same(plainPlaces({ body: 'xx', charge: '0.5' }), [], 'a part of a text; the same number')
  t.same(plainPlaces({ body: '/^x+$/', status: 200 }), [])
  t.same(plainPlaces({ body: '/y/', charge: '0.6' }), ['charge', 'body'])
  const [difference] = differencesOf({ body: 'y' }, plain)
  t.equal(difference?.actual.length, 401, 'a long text is cut')
  t.end()
})
