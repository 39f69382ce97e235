/** Startup: the banner, and faults with a message and an exit code. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { listen } from '../helpers/gateway/chat-upstream.ts'
import {
  eventually,
  folderWith,
  getAlone,
  routes,
  spawnPrimary,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { withoutBuilding } from '../helpers/operator.ts'

const occupyPort = async () => String(await listen(t, createServer()))

t.test(
  'start: the banner has all addresses, and an occupied default admin port is replaced',
  async t => {
    const occupant = createServer().listen(9090, '127.0.0.1')
    // The port is occupied by this server or by another program.
    await Promise.race([once(occupant, 'listening'), once(occupant, 'error')]).catch(() => {})
    t.teardown(() => occupant.close())
    const egress = '  egress_allow: 127.0.0.1:9999'
    const files = folderWith('one', egress)
    const stamp = files['plugins/stamp.ts'] ?? ''
    const welcome =
      '  welcome: async (host, { url }) => `hello from #${host.config.version} at ${url}`,\n'
    const primary = await startPrimary(t, {
      files: { ...files, 'plugins/stamp.ts': stamp.replace('  setup:', `${welcome}  setup:`) },
      env: { ADMIN_PORT: '9090' },
      workers: 2,
    })
    await primary.until(/hello from #1 at http:\/\/127\.0\.0\.1:\d+/)
    for (const part of [
      primary.url,
      primary.admin,
      /workers\s+2/,
      /#1/,
      /store\s.*on disk \(durability: power\)/,
      /egress\s.*127\.0\.0\.1:9999/,
    ])
      t.match(primary.messages(), part)
    t.not(primary.admin, 'http://127.0.0.1:9090')
    t.match(primary.messages(), '127.0.0.1:9090 is in use by another program')
    t.equal(await primary.ready(), 200)
    const run = JSON.parse(readFileSync(join(primary.folder, 'data/run.json'), 'utf8'))
    t.match(run, { pid: primary.child.pid, url: primary.url, admin: primary.admin })

    t.test(
      'a changed listener address takes effect at the next start, and the reload reports it',
      async () => {
        primary.write(
          'routes.yaml',
          routes('two', egress).replace('PORT:-8080', 'OTHER_PORT:-8081'),
        )
        await primary.until(/reload #2: .*settings\.listen takes effect at the next start/)
      },
    )

    t.test('a changed limit of the listener renews the workers', async t => {
      const { workers } = await primary.config()
      primary.write('routes.yaml', routes('three', `${egress}\n  limits: { url: 1KiB }`))
      await primary.state(view =>
        view.workers.every(
          ({ pid, state }) => state === 'leaving' || !workers.some(each => each.pid === pid),
        ),
      )
      t.equal(await primary.metric('worker_restarts_total{reason="renewed"}'), 2)
      t.equal((await getAlone(`${primary.url}/stamp?${'x'.repeat(2_000)}`)).status, 414)
    })
  },
)

t.test('start: an invalid configuration prints its problems and exits with 1', async t => {
  const { 'routes.yaml': text = '', ...plugins } = folderWith('one', '  durability: powr')
  const invalid = text.replace('stamp: { text', 'stmp: { text')
  const primary = spawnPrimary(t, { files: { ...plugins, 'routes.yaml': invalid } })
  t.equal(await primary.exitCode(), 1)
  t.match(primary.messages(), /routes\.yaml:9:\d+ .*"stmp".*did you mean "stamp"/)
  t.match(primary.messages(), /routes\.yaml:\d+:\d+ .*powr.*\n?.*power/)
  t.notOk(existsSync(join(primary.folder, 'data/tollgate.db')), 'no store is created')
})

t.test('start: a missing configuration is reported and exits with 1', async t => {
  const primary = spawnPrimary(t, { files: {} })
  t.equal(await primary.exitCode(), 1)
  t.match(primary.messages(), /CONFIG_MISSING/)
})

t.test('start: an occupied port is reported in one sentence and exits with 3', async t => {
  const port = await occupyPort()
  const primary = spawnPrimary(t, { files: folderWith(), env: { PORT: port }, workers: 2 })
  t.equal(await primary.exitCode(), 3)
  t.equal(
    withoutBuilding(primary.messages()),
    `127.0.0.1:${port} is in use by another program; choose another port: start with PORT=${Number(port) + 1}, or change settings.listen (as shipped, it is read from HOST and PORT)\n`,
  )
})

t.test('start: an occupied admin port from the configuration exits with 3', async t => {
  const port = await occupyPort()
  const primary = spawnPrimary(t, { files: folderWith(), env: { ADMIN_PORT: port } })
  t.equal(await primary.exitCode(), 3)
  t.match(
    primary.messages(),
    `127.0.0.1:${port} is in use by another program; choose another port: start with ADMIN_PORT=`,
  )
})

t.test('start: of two gateways that start at once on a data folder one serves', async t => {
  const primary = spawnPrimary(t, { files: folderWith() })
  const other = spawnPrimary(t, { files: {}, folder: primary.folder })
  const both = [primary, other]
  const refusal = /the data folder "data" is in use by another gateway/
  const isRefused = (each: typeof primary): boolean => refusal.test(each.messages())
  await eventually(() => both.some(isRefused))
  const [first, second] = isRefused(primary) ? [other, primary] : [primary, other]
  t.equal(await second.exitCode(), 3)
  await eventually(() => / serves\n/.test(first.messages()))
  first.child.kill('SIGTERM')
  t.equal(await first.exitCode(), 0)
})

t.test('start: a second gateway on a data folder is refused, and the first continues', async t => {
  const primary = await startPrimary(t, { files: folderWith('one', '  durability: process') })
  const second = spawnPrimary(t, { files: {}, folder: primary.folder })
  t.equal(await second.exitCode(), 3)
  t.match(
    second.messages(),
    `the data folder "data" is in use by another gateway (process ${primary.child.pid}, ${primary.url}); stop that one, or set settings.data`,
  )
  t.match(await primary.ask('reload'), { outcome: 'unchanged' })
  const run = JSON.parse(readFileSync(join(primary.folder, 'data/run.json'), 'utf8'))
  t.equal(run.pid, primary.child.pid, 'run.json names the first gateway')

  t.test('the banner states what acknowledged writes survive', () =>
    primary.until(/store\s.*survive a crash of this program, not a power cut/),
  )

  t.test('the run.json of a crashed gateway does not block a start', async t => {
    primary.child.kill('SIGKILL')
    await primary.allExited()
    const next = spawnPrimary(t, { files: {}, folder: primary.folder })
    await eventually(() => (/ serves\n/.test(next.messages()) ? true : undefined))
    next.child.kill('SIGTERM')
    t.equal(await next.exitCode(), 0)
  })
})

t.test('start: a first build that takes long says so', async t => {
  const files = folderWith('one')
  const stamp = files['plugins/stamp.ts'] ?? ''
  const wait = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500)\n'
  const primary = await startPrimary(t, { files: { ...files, 'plugins/stamp.ts': wait + stamp } })
  t.match(
    primary.messages(),
    /^building .*routes\.yaml and its plugins; the next start uses what is built now\n[\s\S]* serves\n/,
  )
})
