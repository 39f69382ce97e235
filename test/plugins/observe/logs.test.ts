/** `tollgate logs`: rows, filters, pages, new requests, and texts of others on a terminal. */
import { spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { Document } from '../../../engine/plugin.ts'
import { nameAt } from '../../../engine/request-log/files.ts'
import { openRequestLog } from '../../../engine/request-log/reader.ts'
import { logsCommand } from '../../../plugins/observe/logs.ts'
import { usedFolder } from '../../helpers/cache.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { operatorEnv } from '../../helpers/operator.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../../../engine/bin.cjs', import.meta.url))
const RECORD = { level: 'info', status: 200, ms: 12.6, route: 'home', method: 'POST', path: '/' }
const line = (record: object): string => `${JSON.stringify({ ...RECORD, ...record })}\n`

const makeLog = (t: Test, records: readonly object[]) => {
  const folder = t.testdir({ requests: {} })
  const file = join(folder, 'requests', nameAt(1, 1, 0))
  writeFileSync(file, records.map(line).join(''))
  const host = { ...fakeHost(), requests: openRequestLog(join(folder, 'requests')) }
  const logs = (...args: string[]) => runCommand(t, 'logs', { logs: logsCommand }, host, args)
  return { folder, file, logs }
}
const ANN = {
  id: 'req_1',
  time: 1_700_000_000_000,
  account: 1,
  account_name: 'ann',
  key: 3,
  member: 5,
  member_name: 'mia',
  model: 'big',
  upstream: 'up',
  target: 'large',
  input_tokens: 120,
  output_tokens: 7,
  cost: '0.0000015',
}
const BOB = { id: 'req_2', time: 1_700_000_001_000, account_name: 'bob', status: 503, code: 'AWAY' }

t.test('logs: shows who, model, upstream, tokens and cost, the latest last', async t => {
  const { logs } = makeLog(t, [ANN, BOB])
  const { exit, out } = await logs()
  t.equal(exit, 0)
  const [header = '', first = '', second = ''] = out.split('\n')
  t.match(
    header,
    /^time +status +ms +account +key +model +upstream +in +out +cost \(CNY\) +request$/,
  )
  t.match(
    first,
    /^2023-11-14T22:13:20.000Z +200 +13 +ann +3 +big +up\/large +120 +7 +0\.0000015 +req_1$/,
  )
  t.match(second, /503 +13 +bob +- +home +- +- +- +- +req_2 +AWAY$/)
})

t.test('logs: filters, and pages by cursor', async t => {
  const { logs } = makeLog(t, [ANN, BOB])
  const ids = async (...args: string[]) => {
    const { requests } = JSON.parse((await logs('--json', ...args)).out)
    return requests.map(({ id }: { id: string }) => id)
  }
  t.same(await ids('--account', 'ann'), ['req_1'])
  t.same(await ids('--account', '1'), ['req_1'])
  t.same(await ids('--account', 'ann', '--member', 'mia'), ['req_1'])
  t.same(await ids('--account', '1', '--member', '5'), ['req_1'])
  t.same(await ids('--account', 'ann', '--member', 'eve'), [])
  t.same(await ids('--account', 'bob', '--member', 'mia'), [])
  t.same(await ids('--key', '3', '--model', 'big', '--route', 'home'), ['req_1'])
  t.same(await ids('--status', '5xx'), ['req_2'])
  t.same(await ids('--since', '2023-11-14T22:13:21Z'), ['req_2'])
  const { next } = JSON.parse((await logs('--json', '--lines', '1')).out)
  t.same(await ids('--lines', '1', '--cursor', next), ['req_1'])
  t.match(await logs('--account', 'nobody'), { exit: 0, out: 'none' })
})

t.test("logs: leaves the console's own requests out unless asked", async t => {
  const own = { id: 'req_3', time: BOB.time + 1, route: 'console-file', console: true }
  const { logs } = makeLog(t, [ANN, own, BOB])
  t.notMatch((await logs()).out, 'console-file')
  t.match((await logs('--all')).out, 'console-file')
  t.match((await logs('--route', 'console-file')).out, 'none')
})

t.test('logs: refuses invalid values and says which are valid', async t => {
  const { logs } = makeLog(t, [ANN])
  const wrong: [args: string[], message: RegExp][] = [
    [['--status', '9'], /--status must be a status such as 429/],
    [['--status', '600'], /--status must be/],
    [['--key', 'laptop'], /tollgate keys list/],
    [['--member', 'mia'], /--member needs --account/],
    [['--failed', '--member', 'mia'], /--member needs --account/],
    [['--since', 'yesterday'], /--since must be a time such as 2h/],
    [['--since', '2026-13-01'], /--since must be/],
    [['--lines', '0'], /from 1 to 100000/],
    [['--cursor', 'x'], /cursor/],
    [['--accounts', 'ann'], /did you mean "account"/],
    [['extra'], /^Usage: tollgate logs/],
  ]
  for (const [args, err] of wrong) t.match(await logs(...args), { exit: 2, err }, args.join(' '))
})

t.test('logs: control characters of clients become visible escapes', async t => {
  const model = 'a\u001b[31m\u0007\u202eb'
  const { logs } = makeLog(t, [{ ...ANN, model, account_name: 'x\u009b2Jy' }])
  const { out } = await logs()
  t.notMatch(out, /[\u0007\u001b\u009b\u202e]/)
  t.match(out, 'a\\u001b[31m\\u0007\\u202eb')
})

t.test('logs: says where it looks when there is no request log, or when it is off', async t => {
  const requests = openRequestLog(join(t.testdir({}), 'requests'))
  const run = (document: Document) =>
    runCommand(t, 'logs', { logs: logsCommand }, { ...fakeHost({ document }), requests }, [])
  const none = await run({})
  t.match(none, { exit: 0, out: 'none' })
  t.match(none.err, /there is no request log in .*requests yet/)
  const off = await run({ settings: { request_log: 'off' } })
  t.match(off.err, 'settings.request_log is off')
})

t.test('logs -f: prints the last requests and new ones until it is interrupted', async t => {
  const { folder, file } = makeLog(t, [ANN])
  const child = spawn(process.execPath, [PROGRAM, 'logs', '-f'], {
    cwd: ROOT,
    env: operatorEnv({ TOLLGATE_DATA: usedFolder(folder) }),
  })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', text => (out += text))
  await eventually(() => out.includes('req_1'))
  appendFileSync(file, line({ ...BOB, time: Date.now() }))
  await eventually(() => out.includes('req_2'))
  const { promise, resolve } = Promise.withResolvers<number | null>()
  child.on('exit', resolve)
  child.kill('SIGINT')
  t.equal(await promise, 0)
  t.equal(out.split('\n').length, 4, 'a header and two requests, each once')
})

t.test('logs -f: the second signal of one Ctrl-C does not end the process', async t => {
  const { logs } = makeLog(t, [ANN])
  const before = process.listeners('SIGINT')
  const added = () => process.listeners('SIGINT').filter(each => !before.includes(each))
  const following = logs('-f')
  await eventually(() => added().length === 1)
  const [end] = added()
  t.teardown(() => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end ?? (() => {}))
  })
  process.emit('SIGINT')
  t.match(await following, { exit: 0 })
  t.equal(added().length, 1, 'the handler stays until the process ends')
})

t.test('logs: ends quietly when its reader has enough', async t => {
  const { folder } = makeLog(
    t,
    Array.from({ length: 5_000 }, () => ANN),
  )
  const child = spawn(
    'sh',
    ['-c', '"$0" "$@" | head -1', process.execPath, PROGRAM, 'logs', '-n', '5000'],
    { cwd: ROOT, env: operatorEnv({ TOLLGATE_DATA: usedFolder(folder) }) },
  )
  let err = ''
  child.stderr.setEncoding('utf8').on('data', text => (err += text))
  const { promise, resolve } = Promise.withResolvers<unknown>()
  child.on('close', resolve)
  await promise
  t.equal(err, '')
})
