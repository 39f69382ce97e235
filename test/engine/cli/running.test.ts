/** `tollgate status`, `reload` and `rollback` with an admin listener: requests, output, exits. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { askAdmin } from '../../../engine/cli/running.ts'
import { writeRunFile } from '../../../engine/processes/running-gateway.ts'
import { listen } from '../../helpers/gateway/chat-upstream.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'

const VIEW = {
  version: 3,
  hash: 'abc',
  time: '2026-01-02T03:04:05.000Z',
  url: 'http://127.0.0.1:8080',
  workers: [{ number: 1, pid: 42, state: 'serving', version: 3 }],
  unready: [],
  failure: null,
}
const FAILURE = {
  time: '2026-01-02T03:05:00.000Z',
  problems: [{ code: 'X', message: 'broken', file: 'routes.yaml', line: 2, column: 3 }],
}
/** A run file of a gateway, and an admin listener that sends `responses`, by method and path. */
const startListener = async (t: Test, responses: Record<string, object>) => {
  const requests: string[] = []
  const server = createServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`)
    response.end(JSON.stringify(responses[`${method} ${url?.split('?')[0]}`] ?? {}))
  })
  const port = await listen(t, server)
  const folder = t.testdir({})
  const config = join(folder, 'routes.yaml')
  writeFileSync(config, `settings: { data: '${folder}/data' }\nroutes: []\n`)
  writeRunFile(join(folder, 'data'), { pid: 1, url: VIEW.url, admin: `http://127.0.0.1:${port}` })
  return { config, asked: requests, server }
}

t.test('status: shows the live version and the workers', async t => {
  const { config } = await startListener(t, { 'GET /-/config': VIEW })
  t.match(await tollgate(['status', '-c', config]), {
    code: 0,
    out: /^http:\/\/127.0.0.1:8080 serves #3 \(abc\) since 2026.*\n {2}worker 1: serving, #3, pid 42$/,
  })
  t.same(JSON.parse((await tollgate(['status', '--json', '-c', config])).out), VIEW)
})

t.test('status: shows the problems of a failed reload', async t => {
  const { config } = await startListener(t, { 'GET /-/config': { ...VIEW, failure: FAILURE } })
  const { out } = await tollgate(['status', '-c', config])
  t.match(out, /a reload failed at 2026-01-02T03:05.*\n {2}routes\.yaml:2:3 {2}X {2}broken/)
})

t.test('reload: prints the report', async t => {
  const report = { outcome: 'live', version: 4, text: 'reload #4: 1 route added, 38 ms' }
  const { config, asked: requests } = await startListener(t, { 'POST /-/reload': report })
  t.match(await tollgate(['reload', '-c', config]), { code: 0, out: report.text })
  t.same(JSON.parse((await tollgate(['reload', '--json', '-c', config])).out), report)
  const user = encodeURIComponent(userInfo().username)
  t.same(requests, Array(2).fill(`POST /-/reload?user=${user}`), 'it names its user')
})

t.test('reload: problems exit 1, also with --json', async t => {
  const report = { outcome: 'problems', version: 3, text: 'still serving #3', problems: [] }
  const { config } = await startListener(t, { 'POST /-/reload': report })
  t.match(await tollgate(['reload', '-c', config]), { code: 1, out: /still serving #3/ })
  const { code, out } = await tollgate(['reload', '--json', '-c', config])
  t.equal(code, 1)
  t.same(JSON.parse(out), report)
})

t.test('rollback: problems outside the configuration exit 3', async t => {
  const [missingVersion, unknownKey] = ['NO_VERSION', 'UNKNOWN_KEY'].map(code => ({
    code,
    message: 'no',
  }))
  const base = { outcome: 'problems', version: 3, text: 'still serving #3' }
  const one = await startListener(t, {
    'POST /-/rollback': { ...base, problems: [missingVersion] },
  })
  t.match(await tollgate(['rollback', '99', '-c', one.config]), { code: 3, out: base.text })
  const both = await startListener(t, {
    'POST /-/rollback': { ...base, problems: [missingVersion, unknownKey] },
  })
  t.match(await tollgate(['rollback', '99', '-c', both.config]), { code: 1, out: base.text })
})

t.test('rollback: goes to the previous or to a given version', async t => {
  const report = { outcome: 'live', version: 5, text: 'reload #5: back to #2' }
  const { config, asked: requests } = await startListener(t, { 'POST /-/rollback': report })
  t.match(await tollgate(['rollback', '-c', config]), { code: 0, out: report.text })
  t.match(await tollgate(['rollback', '2', '-c', config]), { code: 0 })
  t.match(await tollgate(['rollback', '#2', '-c', config]), { code: 0 })
  const user = `user=${encodeURIComponent(userInfo().username)}`
  const second = `POST /-/rollback?to=2&${user}`
  t.same(requests, [`POST /-/rollback?${user}`, second, second])
})

t.test('rollback: an error of the gateway is printed, and exits 3', async t => {
  const { config } = await startListener(t, { 'POST /-/rollback': { error: 'not that one' } })
  const { code, err } = await tollgate(['rollback', '2', '-c', config])
  t.equal(code, 3)
  t.match(err, 'not that one')
})

t.test('no gateway: exits 3, also beside the run file of a crashed gateway', async t => {
  const { config, server } = await startListener(t, {})
  await new Promise(resolve => server.close(resolve))
  t.match(await tollgate(['status', '-c', config]), {
    code: 3,
    err: /^no gateway of the data folder ".*" is running/,
  })
  const alone = `${t.testdir({ 'routes.yaml': "settings: { data: './no' }\nroutes: []\n" })}/routes.yaml`
  t.match(await tollgate(['reload', '-c', alone]), {
    code: 3,
    err: /^there is no data folder "\.\/no"; start a gateway/,
  })
})

t.test('admin request of a plugin command: resolves to JSON, rejects with a fault', async t => {
  const { config, server } = await startListener(t, { 'GET /-/own': { a: 1 } })
  const folder = config.replace('routes.yaml', 'data')
  t.same(await askAdmin(folder, '/-/own'), { a: 1 })
  server.prependListener('request', (_, response) => {
    response.statusCode = 404
  })
  await t.rejects(askAdmin(folder, '/-/own'), {
    code: 'ADMIN_REFUSED',
    message: 'the gateway refused it: /-/own answered 404',
  })
  await new Promise(resolve => server.close(resolve))
  await t.rejects(askAdmin(folder, '/-/own'), { code: 'NO_GATEWAY', message: /tollgate start/ })
})
