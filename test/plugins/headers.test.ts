/** Plugin `headers`: requests and responses of a route get its headers; wrong names are refused. */
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Plugin } from '../../engine/plugin.ts'
import errors from '../../plugins/errors.ts'
import headers from '../../plugins/headers.ts'
import { usedFolder } from '../helpers/cache.ts'
import { tollgate } from '../helpers/gateway/command-line.ts'
import { SILENT_LOG, startHttpUpstream, startTestServer } from '../helpers/gateway/test-server.ts'

type Document = Parameters<typeof startTestServer>[2]

/** Starts an upstream that answers 200 with headers of its own, and records those of requests. */
const startUpstream = async (t: Test) => {
  const requests: IncomingHttpHeaders[] = []
  const url = await startHttpUpstream(t, (request, response) => {
    requests.push(request.headers)
    response.writeHead(200, { 'cache-control': 'private', 'x-kept': 'yes' }).end('{}')
  })
  return { requests, url }
}

t.test('headers: requests and responses of the route get them, others do not', async t => {
  const { requests, url: main } = await startUpstream(t)
  const options = {
    request: { 'x-team': 'search', 'user-agent': 'ours' },
    response: { 'cache-control': 'no-store' },
  }
  const { url } = await startTestServer(
    t,
    { errors: errors as Plugin, headers: headers as Plugin },
    {
      upstreams: { main: { url: main } },
      routes: [
        { path: 'GET /with', upstream: 'main', headers: options },
        { path: 'GET /without', upstream: 'main' },
      ],
    } as unknown as Document,
    SILENT_LOG,
  )
  const reply = await fetch(`${url}/with`, { headers: { 'x-team': 'of the client' } })
  t.equal(reply.headers.get('cache-control'), 'no-store')
  t.equal(reply.headers.get('x-kept'), 'yes')
  const other = await fetch(`${url}/without`)
  t.equal(other.headers.get('cache-control'), 'private')
  t.match(requests, [{ 'x-team': 'search', 'user-agent': 'ours' }, { 'x-team': undefined }])
})

t.test(
  'headers: names of framing, in capitals, and values with a line break are problems',
  async t => {
    const codesOf = async (option: string) => {
      const folder = t.testdir({
        'routes.yaml': `settings: { data: '${t.testdirName}/data', plugins: ['${PLUGINS}'] }
pipeline: [errors, headers]
upstreams: { up: { url: 'http://127.0.0.1:9' } }
routes: [{ path: GET /x, upstream: up, headers: ${option} }]
`,
      })
      usedFolder(join(folder, 'data'))
      const { out } = await tollgate(['check', '--json', '-c', join(folder, 'routes.yaml')])
      const { problems } = JSON.parse(out) as { problems: readonly { readonly code: string }[] }
      return problems.map(({ code }) => code)
    }
    t.same(await codesOf('{ request: { x-team: search } }'), [])
    t.same(await codesOf('{ request: { Content-Length: "3" } }'), ['BAD_NAME'])
    t.same(await codesOf('{ response: { content-length: "3" } }'), ['BAD_NAME'])
    t.same(await codesOf('{ response: { x-a: "b\\r\\nx-c: d" } }'), ['BAD_VALUE'])
    t.same(await codesOf('{ reply: {} }'), ['UNKNOWN_KEY'])
  },
)
const PLUGINS = join(import.meta.dirname, '../../plugins')
