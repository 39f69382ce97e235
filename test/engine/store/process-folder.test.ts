/** Process folder: detects whether the other processes of a data folder are alive. */
import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ProcessFolder } from '../../../engine/store/process-folder.ts'
import { eventually } from '../../helpers/primary.ts'
import { startClient, startStore, temporaryFolder } from '../../helpers/store.ts'

const DAY = 86_400_000
const openFolder = (t: Test, data: string): ProcessFolder => {
  const folder = new ProcessFolder(data)
  t.teardown(() => folder.close())
  return folder
}
const keysIn = (data: string): readonly string[] =>
  readdirSync(join(data, 'processes'))
    .filter(name => name.endsWith('.socket'))
    .map(name => name.replace('.socket', ''))

t.test('process folder: a process is alive until it leaves, and unknown afterwards', async t => {
  const dataFolder = temporaryFolder(t)
  const [one, other] = [openFolder(t, dataFolder), openFolder(t, dataFolder)]
  const id = await one.enter('1')
  t.ok(id)
  t.equal(await other.enter('2'), id, 'both have the id of the folder')
  t.equal(await one.enter('1'), id, 'a second call has no effect')
  t.equal(await one.isAlive('2'), true)
  t.equal(await one.isAlive('1'), true, 'its own key')
  t.equal(await one.isAlive('3'), undefined, 'a key without a process')
  other.close()
  await eventually(async () => (await one.isAlive('2')) === undefined || undefined)
  t.not(openFolder(t, temporaryFolder(t)).id, id, 'another folder')
})

t.test('process folder: a killed process is dead, a suspended one is alive', async t => {
  const { data, address } = await startStore(t)
  const client = await startClient(t, { url: address.url, data })
  await client.call('migrateMembership')
  await client.call('register')
  const [key = ''] = keysIn(data)
  const folder = openFolder(t, data)
  client.process.kill('SIGSTOP')
  t.equal(await folder.isAlive(key), true)
  await client.kill()
  t.equal(await folder.isAlive(key), false)
  await folder.enter('1')
  t.same(
    new Set(keysIn(data)),
    new Set([key, '1']),
    'the socket stays until it is stale, for peers that check later',
  )
  const old = (Date.now() - 8 * DAY) / 1_000
  utimesSync(join(data, 'processes', `${key}.socket`), old, old)
  await openFolder(t, data).enter('2')
  await eventually(() => !keysIn(data).includes(key) || undefined)
  folder.remove('1')
  t.notOk(existsSync(join(data, 'processes', '1.socket')))
})

t.test('process folder: a folder that cannot be written has no processes', async t => {
  const dataFolder = join(temporaryFolder(t), 'file')
  writeFileSync(dataFolder, 'not a folder')
  const folder = openFolder(t, dataFolder)
  t.equal(folder.id, undefined)
  t.equal(await folder.enter('1'), undefined)
})
