/** `tollgate check --live`: asks each upstream with each key, and names targets that it lacks. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** An upstream that lists two models to one key; counts its requests by path. */
const startUpstream = async (t: Test) => {
  const requests: string[] = []
  const url = await startHttpUpstream(t, ({ method, url, headers }, response) => {
    requests.push(`${method} ${url}`)
    response.statusCode = headers.authorization === 'Bearer right-key' ? 200 : 401
    response.end(JSON.stringify({ data: [{ id: 'one' }, { id: 'two' }] }))
  })
  return { url, requests }
}
const configOf = (t: Test, url: string, key: string, target: string) => {
  const folder = t.testdir({})
  writeFileSync(
    `${folder}/routes.yaml`,
    `settings: { plugins: ['${ROOT}plugins'], data: '${usedFolder(`${folder}/data`)}' }
pipeline: [auth, model, meter, translate]
upstreams: { up: { url: '${url}', key: '${key}' } }
routes: [{ path: POST /v1/chat/completions, model: body, translate: openai-chat }]
models: { m: { to: up/${target}, free: true }, 'any-*': { to: 'up/any-*', free: true } }
`,
  )
  return `${folder}/routes.yaml`
}

t.test('check --live: good keys and targets exit 0 after one request for models', async t => {
  const { url, requests } = await startUpstream(t)
  const result = await tollgate(['check', '--live', '-c', configOf(t, url, 'right-key', 'two')])
  t.match(result, { code: 0, out: /up +http:\S+ +\S+ +200: 2 models/ })
  t.same(requests, ['GET /v1/models'])
  t.notMatch(result.out, /right-key/)
})

t.test('check --live: names a target that the upstream does not have', async t => {
  const { url } = await startUpstream(t)
  const config = configOf(t, url, 'right-key', 'three')
  t.match(await tollgate(['check', '--live', '-c', config]), {
    code: 3,
    out: /missing: upstream "up" does not offer "three"/,
  })
  const { out } = await tollgate(['check', '--live', '--json', '-c', config])
  t.match(JSON.parse(out), [{ upstream: 'up', missing: ['three'], fails: false }])
})

t.test('check --live: a refused key and a closed port exit 3', async t => {
  const { url } = await startUpstream(t)
  t.match(await tollgate(['check', '--live', '-c', configOf(t, url, 'wrong-key', 'two')]), {
    code: 3,
    out: /401: refuses the key/,
  })
  const closed = configOf(t, 'http://127.0.0.1:1', 'right-key', 'two')
  t.match(await tollgate(['check', '--live', '-c', closed]), { code: 3 })
})

t.test('check: sends nothing without --live', async t => {
  const { url, requests } = await startUpstream(t)
  t.match(await tollgate(['check', '-c', configOf(t, url, 'right-key', 'three')]), { code: 0 })
  t.same(requests, [])
})
