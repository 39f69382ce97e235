/** Members of the host: folders, URLs at the public address, and values that plugins share. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publicUrl, readSettings } from '../../../engine/config/settings.ts'
import type { Host } from '../../../engine/plugin.ts'
import { recordHosts, startTestServer } from '../../helpers/gateway/test-server.ts'

const startHost = async (t: Parameters<typeof startTestServer>[0], settings: object) => {
  const { hosts, plugin: own } = recordHosts({ answers: true })
  const document = { settings, routes: [{ path: 'GET /' }] }
  const server = await startTestServer(
    t,
    { own },
    document as Parameters<typeof startTestServer>[2],
  )
  return Object.assign({ ...(hosts[0] as Host) }, { resources: server.resources })
}

t.test('host.folder: is an absolute folder in the data folder, and exists', async t => {
  const dataFolder = t.testdir({})
  const host = await startHost(t, { data: dataFolder })
  const folder = host.folder('files')
  t.equal(folder, join(dataFolder, 'files'))
  t.ok(existsSync(folder))
})

t.test('host.url: begins with the public URL, and keeps its path prefix', async t => {
  const host = await startHost(t, { public_url: 'https://api.example/ai/' })
  t.equal(host.url('/files/1'), 'https://api.example/ai/files/1')
})

t.test('public URL: is the bound address if none is configured', async t => {
  const settings = readSettings({ listen: '0.0.0.0:0' }, {})
  t.equal(publicUrl(settings, 'http://127.0.0.1:4711'), 'http://127.0.0.1:4711')
  const configured = readSettings({ listen: '0.0.0.0:0', public_url: 'https://api.example' }, {})
  t.equal(publicUrl(configured, 'http://127.0.0.1:4711'), 'https://api.example')
})

t.test('host.share: a value that a plugin shares at each request is acquired once', async t => {
  const { share, resources } = await startHost(t, {})
  const acquired = t.capture(resources.shared, 'acquire', resources.shared.acquire)
  const values = [1, 2, 3].map(() => share('cache', '1', () => ({})))
  t.equal(new Set(values).size, 1)
  t.equal(acquired().length, 1)
  const newer = share('cache', '2', before => ({ before }))
  t.same(newer, { before: values[0] })
})
