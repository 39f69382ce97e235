/** The socket of the admin listener: its mode, what a killed gateway left, and its folder. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type AdminOptions, listenAdminSocket } from '../../../engine/processes/admin-listener.ts'
import { adminSocketOf, requestOverSocket } from '../../../engine/processes/admin-socket.ts'

const options: AdminOptions = {
  host: '127.0.0.1',
  routes: { 'POST /-/reload': () => ({ status: 200, body: { done: true } }) },
  authorize: () => Promise.reject(new Error('no credential is read over the socket')),
}
const folderOf = (t: Test, name = 'data'): string => {
  const parent = mkdtempSync(join(tmpdir(), 'tollgate-socket-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
const open = async (t: Test, folder: string) => {
  const socket = await listenAdminSocket(options, folder)
  t.teardown(() => socket.close())
  return socket
}

t.test('admin socket: serves endpoints of operators to its own user without a token', async t => {
  const folder = folderOf(t)
  const mask = process.umask(0)
  t.teardown(() => void process.umask(mask))
  const socket = await open(t, folder)
  t.equal(process.umask(mask), 0, 'the mask of the process is as before')
  t.equal(statSync(socket.path).mode & 0o777, 0o600)
  const reply = await requestOverSocket(socket.path, '/-/reload', { method: 'POST' })
  t.same([reply.status, await reply.json()], [200, { done: true }])
  const page = { method: 'POST', headers: { origin: 'http://evil.example' } }
  t.equal((await requestOverSocket(socket.path, '/-/reload', page)).status, 403)
  await socket.close()
  t.notOk(existsSync(socket.path), 'an orderly end removes it')
  await t.rejects(requestOverSocket(socket.path, '/-/reload'), { code: 'ENOENT' })
})

t.test('admin socket: replaces the one that a killed gateway left', async t => {
  const folder = folderOf(t)
  const path = adminSocketOf(folder)
  mkdirSync(join(path, '..'), { recursive: true })
  // A socket whose server is gone: closed without removing the file.
  const server = createServer()
  await new Promise<void>(resolve => server.listen({ path }, resolve))
  renameSync(path, `${path}.old`)
  await new Promise(resolve => server.close(resolve))
  renameSync(`${path}.old`, path)
  t.ok(statSync(path).isSocket())
  await t.rejects(requestOverSocket(path, '/-/reload'), { code: 'ECONNREFUSED' })
  const socket = await open(t, folder)
  t.equal((await requestOverSocket(socket.path, '/-/reload', { method: 'POST' })).status, 200)
})

t.test('admin socket: no other file is removed for it', async t => {
  const folder = folderOf(t)
  const path = adminSocketOf(folder)
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  writeFileSync(path, 'mine')
  await t.rejects(listenAdminSocket(options, folder), { message: /another file has its name/ })
  t.ok(statSync(path).isFile())
})

t.test('admin socket: is not opened where other users may replace it', async t => {
  const folder = folderOf(t)
  t.ok(adminSocketOf(folder).startsWith(folder), 'the path is short enough')
  chmodSync(folder, 0o777)
  await t.rejects(listenAdminSocket(options, folder), { message: /every user .* may write/ })
  chmodSync(folder, 0o750)
  const socket = await open(t, folder)
  t.ok(existsSync(socket.path))
})

t.test('admin socket: a folder with a long path has its socket in a private folder', async t => {
  const folder = folderOf(t, 'x'.repeat(120))
  const socket = await open(t, folder)
  t.notOk(socket.path.startsWith(folder))
  t.equal(statSync(join(socket.path, '..')).mode & 0o777, 0o700)
  t.equal((await requestOverSocket(socket.path, '/-/reload', { method: 'POST' })).status, 200)
})
