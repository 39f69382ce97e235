/** `GET /-/ready` turns red with a reason while charged calls cannot be served, and green again:
 *  a stopped writer, a stopped PostgreSQL, a data folder that was deleted or replaced. */
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { requestAdmin } from '../../engine/processes/running-gateway.ts'
import { eventually, folderWith, type Primary, startPrimary } from '../helpers/gateway/primary.ts'
import { scaled } from '../helpers/machine-speed.ts'
import { faultyPostgres } from '../helpers/store/postgres.ts'

t.setTimeout(scaled(120_000))

const readiness = async ({ admin }: Primary) => {
  const response = await fetch(`${admin}/-/ready`)
  const { reasons } = (await response.json()) as { readonly reasons: readonly string[] }
  return { status: response.status, text: reasons.join('; ') }
}
const until = (primary: Primary, status: number, reason: RegExp = /^$/) =>
  eventually(async () => {
    const current = await readiness(primary)
    return current.status === status && reason.test(current.text)
  })
/** The writer process: a child of the primary with this file as its program. */
const writerOf = ({ child }: Primary): number => {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
  const pid = children
    .split(' ')
    .find(each => each && readFileSync(`/proc/${each}/cmdline`, 'utf8').includes('/writer.'))
  return Number(pid)
}

t.test('ready: is red while the data folder is deleted or replaced', async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  const dataFolder = join(primary.folder, 'data')
  await until(primary, 200)
  renameSync(dataFolder, `${dataFolder}-away`)
  // A part of the gateway may make the folder again, which does not bring its content back.
  await until(primary, 503, /data folder .*\/data was (deleted|replaced) .*restore/)
  const socket = join(`${dataFolder}-away`, 'admin.socket')
  const { url, admin, child } = primary
  const view = await requestAdmin({ pid: child.pid ?? 0, url, admin, socket }, '/-/config')
  t.match(await view.json(), { unready: [/was (deleted|replaced)/] }, 'status says so')
  mkdirSync(dataFolder, { recursive: true })
  await until(primary, 503, /data folder .*\/data was replaced/)
  rmSync(dataFolder, { recursive: true })
  renameSync(`${dataFolder}-away`, dataFolder)
  await until(primary, 200)
  const logged = (pattern: RegExp) =>
    primary.log().some(({ level, msg }) => pattern.test(`${level} ${msg}`))
  await eventually(() => logged(/^info the data folder is back/))
  t.ok(logged(/^error the data folder .* was replaced/))
  renameSync(join(dataFolder, 'tollgate.db'), join(dataFolder, 'gone.db'))
  await until(primary, 503, /database file .*tollgate\.db was deleted/)
})

t.test('ready: is red while the writer of the embedded store does not answer', async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  await until(primary, 200)
  const writer = writerOf(primary)
  process.kill(writer, 'SIGSTOP')
  await until(primary, 503, /store has not answered for \d+ s: calls that need a key or a price/)
  process.kill(writer, 'SIGCONT')
  await until(primary, 200)
})

t.test('ready: is red while PostgreSQL is stopped, and green when it answers again', async t => {
  const server = await faultyPostgres()
  const primary = await startPrimary(t, {
    files: folderWith(),
    env: { DATABASE_URL: await server.create() },
  })
  await until(primary, 200)
  await server.stop()
  await until(primary, 503, /store has not answered/)
  await server.start()
  await until(primary, 200)
})
