/** The reaper: which of the registered processes are dead, who reaps them, and when. */
import t, { type Test } from 'tap'
import { createLog } from '../../../engine/observe/log.ts'
import type { PeerListener, Row } from '../../../engine/plugin.ts'
import { Reaper, type ReaperOptions } from '../../../engine/store/reaper.ts'

type Timeouts = ReaperOptions['timeouts']
const TIMEOUTS = { check: 10, disconnected: 30, silent: 60 } as unknown as Timeouts
const failure = (code: string): Error => Object.assign(new Error(code), { code })
const log = createLog({ level: 'silent' })

/** A peer as its row says; `connected` is null with SQLite. */
const row = (id: string, client: string | null, folder: string | null, connected: number | null) =>
  ({ id, beat: 1n, client, folder, connected }) as unknown as Row
interface Options {
  readonly rows: Row[]
  /** Keys of processes whose socket answers or does not; others are unknown. */
  readonly sockets?: Record<string, boolean>
  readonly owed?: string[]
  /** Codes of the first writes. */
  readonly failures?: (string | undefined)[]
}
/** A reaper of the process `me` in the folder `here`, and the names of what it does. */
const start = (t: Test, { rows, sockets = {}, owed = [], failures = [] }: Options) => {
  const actions: string[] = []
  let onChange = (): void => {}
  const note = (action: string): void => {
    actions.push(action)
    onChange()
  }
  const folder = {
    id: 'here',
    isAlive: async (key: string) => sockets[key],
    owedKeys: () => owed,
    writeOwedOf: async (key: string) => note(`owed ${key}`),
    removeOwedOf: (key: string) => {
      owed.splice(owed.indexOf(key), 1)
    },
    remove: (key: string) => note(`remove ${key}`),
    progressOf: () => new Map(),
  }
  const write = async (list: readonly { sql: { name: string }; values: unknown[] }[]) => {
    const code = failures.shift()
    note(`${code ?? ''}${list[0]?.sql.name.replace('reaper: ', '')} ${list[0]?.values[0]}`)
    if (code) throw failure(code)
    const reaped = rows.findIndex(({ id }) => id === list[0]?.values[0])
    if (list[0]?.sql.name === 'reaper: reap' && reaped >= 0) rows.splice(reaped, 1)
    return list.map(() => [{ name: 'lease' }])
  }
  let checks = 0
  const read = async (sql: { name: string }) => {
    if (sql.name !== 'reaper: all') return []
    checks++
    onChange()
    return rows
  }
  const listener: PeerListener = {
    beforeReap: async name => note(`before ${name}`),
    reapStatements: () => [],
  }
  const reaper = new Reaper({
    database: { read, write, process: { key: 'k-me', folder } },
    log: { ...log, warn: ({ dead }: { dead?: string }) => dead && note(`warned of ${dead}`) },
    timeouts: TIMEOUTS,
    listeners: () => [listener, {}],
    isOwn: (name: string) => name === 'me',
  } as unknown as ReaperOptions)
  reaper.onPeerLost(() => note('lost'))
  t.teardown(() => reaper.stop())
  const until = (holds: () => boolean): Promise<void> =>
    new Promise(resolve => {
      // The timer of the reaper does not keep a process alive.
      const alive = setInterval(() => {}, 60_000)
      onChange = () => {
        if (!holds()) return
        clearInterval(alive)
        resolve()
      }
      onChange()
    })
  const has = (text: string) => () => actions.some(action => action.startsWith(text))
  return { reaper, actions, until, has, checks: () => checks }
}
const ME = row('me', 'k-me', 'here', null)

t.test('reaper: a process of this folder whose socket is closed is dead at once', async t => {
  const { reaper, actions, until, has, checks } = start(t, {
    rows: [ME, row('dead', 'k-dead', 'here', null), row('alive', 'k-alive', 'here', null)],
    sockets: { 'k-dead': false, 'k-alive': true },
    owed: ['k-me', 'k-alive', 'k-old'],
  })
  reaper.check()
  t.equal(checks(), 0, 'it was not started')
  reaper.start()
  reaper.start()
  reaper.check()
  await until(has('lost'))
  t.ok(actions.includes('remove k-dead'))
  t.ok(actions.indexOf('before dead') < actions.indexOf('reap dead'))
  t.ok(actions.includes('owed k-old'), 'of a process that is registered no more')
  t.notOk(actions.includes('owed k-alive'))
  await until(has('remove on-crash statements k-dead'))
  t.notOk(actions.some(action => action === 'reap alive'))
})

t.test(
  'reaper: a silent process of another machine is dead when its connection is away',
  async t => {
    const { reaper, actions, until, has } = start(t, {
      rows: [
        ME,
        row('away', 'k-1', 'other', 0),
        row('frozen', 'k-2', 'third', 1),
        row('old', null, null, null),
      ],
    })
    reaper.start()
    await until(has('reap old'))
    t.ok(actions.includes('reap away'))
    await until(has('same beat frozen'))
    t.notOk(actions.includes('reap frozen'), 'its connection is open: it only loses its leases')
  },
)

t.test('reaper: a dead process with an open connection is waited for', async t => {
  const rows = [ME, row('ending', 'k-1', 'here', 1)]
  const { reaper, actions, until, has, checks } = start(t, { rows, sockets: { 'k-1': false } })
  reaper.start()
  await until(() => checks() > 3)
  t.notOk(actions.includes('reap ending'))
  rows.splice(1, 1, row('ending', 'k-1', 'here', 0))
  await until(has('reap ending'))
})

t.test('reaper: a failure is tried again at the next check', async t => {
  for (const code of ['STILL_ALIVE', 'STORE_UNAVAILABLE']) {
    const { reaper, actions, until, has } = start(t, {
      rows: [ME, row('dead', 'k-1', 'here', null)],
      sockets: { 'k-1': false },
      failures: [code],
    })
    reaper.start()
    await until(has('lost'))
    t.ok(actions.some(action => action.startsWith(code)))
    reaper.stop()
  }
})

t.test('reaper: the calls of another gateway are ended only if it is still silent', async t => {
  const { reaper, actions, until, has } = start(t, {
    rows: [ME, row('far', 'k-far', 'there', 0)],
    failures: ['STILL_ALIVE'],
  })
  reaper.start()
  await until(has('reap far'))
  const first = actions.indexOf('STILL_ALIVEsame beat far')
  t.ok(first >= 0 && first < actions.indexOf('before far'), actions.join(', '))
  t.equal(actions.filter(action => action === 'before far').length, 1, 'not while it is back')
  t.ok(actions.indexOf('warned of far') < actions.indexOf('before far'), 'the log says it before')
  t.equal(actions.filter(action => action === 'warned of far').length, 1)
})
