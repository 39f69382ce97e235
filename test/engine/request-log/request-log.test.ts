/** The request log: files of several writers, their bounds, and what readers find in them. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { RequestFilter, RequestRecord } from '../../../engine/request-log/contract.ts'
import { listFiles, nameAt, pruneFiles } from '../../../engine/request-log/files.ts'
import { lineStart, linesAfter, linesBackwards } from '../../../engine/request-log/lines.ts'
import { openRequestLog } from '../../../engine/request-log/reader.ts'
import { RequestWriter } from '../../../engine/request-log/writer.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const LARGE = { size: 64 * 1024 * 1024, age: 86_400_000 }
const line = (record: Partial<RequestRecord>): string =>
  `${JSON.stringify({ level: 'info', time: 1_000, status: 200, ...record })}\n`

const startWriter = (t: Test, folder: string, bounds = LARGE, now?: () => number) => {
  const counts: Record<string, number> = {}
  const texts: string[] = []
  const write = (_: object, text = '') => void texts.push(text)
  const writer = new RequestWriter({
    folder,
    bounds,
    log: { debug: write, info: write, warn: write, error: write },
    metrics: {
      count: (_, { reason = '' }, by = 1) => (counts[reason] = (counts[reason] ?? 0) + by),
    },
    ...(now && { now }),
  })
  t.teardown(() => writer.close())
  return { writer, counts, texts }
}
const filesIn = (folder: string): string[] => readdirSync(folder).sort()
/** Whether one of the two newest files has the line with this id. */
const hasLine = (folder: string, id: string): boolean =>
  (existsSync(folder) ? filesIn(folder).slice(-2) : []).some(name =>
    readFileSync(join(folder, name), 'utf8').includes(`"id":"${id}"`),
  )
const all = async (folder: string, filter: RequestFilter = {}, size = 1_000) => {
  const log = openRequestLog(folder)
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await log.page(filter, size, cursor ?? undefined)
    ids.push(...page.rows.map(({ id }) => id))
    cursor = page.next
  }
  return ids
}

t.test('request log: merges the files of several writers, latest first, in pages', async t => {
  const folder = join(t.testdir({}), 'requests')
  mkdirSync(folder)
  // Two processes in turns, with several lines of one ms; the second process has two files.
  const texts = ['', '', '']
  for (let index = 0; index < 300; index++) {
    const file = index % 2 === 0 ? 0 : index < 150 ? 1 : 2
    texts[file] += line({ id: `r${index}`, time: 1_000 + Math.floor(index / 5) })
  }
  for (const [index, text] of texts.entries())
    writeFileSync(join(folder, nameAt(1_000 + index, index === 0 ? 7 : 8, index)), text)
  const ids = await all(folder)
  t.equal(ids.length, 300)
  t.equal(new Set(ids).size, 300)
  const times = ids.map(id => Math.floor(Number(id.slice(1)) / 5))
  t.same(
    times,
    times.toSorted((a, b) => b - a),
  )
  for (const size of [1, 7, 299]) t.same(await all(folder, {}, size), ids, `pages of ${size}`)
})

t.test('request log: filters by fields, status and time', async t => {
  const folder = t.testdir({})
  const records = [
    { id: 'a', time: 1, account: 1, account_name: 'ann', key: 3, status: 200 },
    { id: 'b', time: 2, account: 2, account_name: 'bob', key: 33, status: 503 },
    { id: 'c', time: 3, account: 11, account_name: 'annex', key: 3, status: 429 },
    { id: 'd', time: 4, status: 502 },
  ]
  writeFileSync(join(folder, nameAt(1, 1, 0)), records.map(line).join(''))
  const idsOf = (filter: RequestFilter) => all(folder, filter)
  t.same(await idsOf({ fields: { account_name: ['ann'] } }), ['a'])
  t.same(await idsOf({ fields: { account: ['1'] } }), ['a'])
  t.same(await idsOf({ fields: { key: ['3'] } }), ['c', 'a'])
  t.same(await idsOf({ fields: { key: ['3'], account: ['11', '2'] } }), ['c'])
  t.same(await idsOf({ fields: { toString: ['x'] } }), [])
  t.same(await idsOf({ status: '5xx' }), ['d', 'b'])
  t.same(await idsOf({ status: '429' }), ['c'])
  t.same(await idsOf({ since: 2, until: 4 }), ['c', 'b'])
})

t.test('request log: skips lines that a crash cut off, and files of other programs', async t => {
  const folder = t.testdir({ 'notes.txt': line({ id: 'foreign' }) })
  const path = join(folder, nameAt(1, 1, 0))
  writeFileSync(path, `${line({ id: 'a' })}{"level":"info","time":1,"id":"cut`)
  t.same(await all(folder), ['a'])
  appendFileSync(path, `\nnull\n{"time":"x"}\n${line({ id: 'b' })}`)
  t.same(await all(folder), ['b', 'a'])
})

t.test('request log: reads lines longer than a chunk and text of every script', async t => {
  const folder = t.testdir({})
  const path = '語'.repeat(100_000)
  const text = [1, 2, 3].map(time => line({ id: `r${time}`, time, path })).join('')
  writeFileSync(join(folder, nameAt(1, 1, 0)), text)
  t.same(await all(folder), ['r3', 'r2', 'r1'])
  t.equal((await openRequestLog(folder).find('r2'))?.path, path)
})

t.test('request log: finds a request by its id and by the id of its client', async t => {
  const folder = t.testdir({})
  const lines = [line({ id: 'req_1', request_id: 'mine"1' }), line({ id: 'x', of: 'req_2' })]
  writeFileSync(join(folder, nameAt(1, 1, 0)), lines.join(''))
  const log = openRequestLog(folder)
  t.equal((await log.find('req_1'))?.id, 'req_1')
  t.equal((await log.find('mine"1'))?.id, 'req_1')
  for (const id of ['req_2', 'req_', '', '"', 'nothing'])
    t.equal(await log.find(id), undefined, `"${id}"`)
})

t.test('request log: a folder that does not exist has no requests', async t => {
  const log = openRequestLog(join(t.testdir({}), 'none'))
  t.same(await log.page({}, 5), { rows: [], next: null })
  t.equal(await log.find('a'), undefined)
  for (const cursor of ['', 'x', '1', '1-', '-1-1', '1-1-1', `${'9'.repeat(40)}-1`])
    await t.rejects(log.page({}, 5, cursor), { code: 'LOG_CURSOR', status: 400 }, `"${cursor}"`)
})

t.test('request log: stays within its size and removes the oldest files first', async t => {
  const folder = join(t.testdir({}), 'requests')
  let now = 1_800_000_000_000
  const size = 1_048_576
  const { writer, counts } = startWriter(t, folder, { size, age: 1e12 }, () => (now += 61_000))
  const padding = 'x'.repeat(1_000)
  for (let index = 0; index < 4_000; index++) {
    writer.write(line({ id: `r${index}`, time: now, padding }))
    // The first of these lines is written before the next ones come.
    if (index % 100 === 99) while (!hasLine(folder, `r${index - 99}`)) await pause(1)
  }
  await writer.close()
  const total = filesIn(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  // A file is closed after the write that fills it, and a busy machine writes many lines at once.
  t.ok(total <= size * 1.5, `${total} bytes in ${filesIn(folder).length} files`)
  t.ok(total > size / 2)
  t.equal((await all(folder))[0], 'r3999')
  t.same(counts, {})
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(statSync(join(folder, filesIn(folder)[0] ?? '')).mode & 0o777, 0o600)
})

t.test('request log: removes files that are too old', async t => {
  const folder = t.testdir({})
  const old = join(folder, nameAt(1, 1, 0))
  writeFileSync(old, line({ id: 'old' }))
  execFileSync('touch', ['-d', '2020-01-01', old])
  const { writer } = startWriter(t, folder)
  writer.write(line({ id: 'new' }))
  await writer.close()
  t.same(await all(folder), ['new'])
})

t.test('request log: continues in a new file after an operator removed the folder', async t => {
  const folder = join(t.testdir({}), 'requests')
  const { writer } = startWriter(t, folder)
  writer.write(line({ id: 'a' }))
  await eventually(async () => existsSync(folder) && (await all(folder)).length === 1)
  rmSync(folder, { recursive: true })
  writer.write(line({ id: 'b' }))
  await writer.close()
  t.same(await all(folder), ['b'])
})

t.test('request log: counts the lines of a failed write and says it once', async t => {
  const folder = join(t.testdir({ requests: 'a file in the place of the folder' }), 'requests')
  const { writer, counts, texts } = startWriter(t, folder)
  for (let round = 0; round < 3; round++) {
    writer.write(line({ id: 'a' }))
    writer.write(line({ id: 'b' }))
    await eventually(() => counts.failed === 2 * (round + 1))
  }
  t.same(counts, { failed: 6 })
  t.same(texts, ['the request log cannot be written; requests go on'])
  rmSync(folder)
  writer.write(line({ id: 'c' }))
  await writer.close()
  t.equal(texts.length, 2, 'it says that it works again')
  t.same(await all(folder), ['c'])
})

t.test(
  'request log: a full disk loses lines, leaves no empty files and blocks nothing',
  async t => {
    const folder = t.testdir({})
    // A limit of the file size of the process fails writes as a full disk does.
    const program = `
    import { RequestWriter } from '${new URL('../../../engine/request-log/writer.ts', import.meta.url)}'
    process.on('SIGXFSZ', () => {})
    const counts = {}
    const texts = []
    const say = (_, text) => texts.push(text)
    const log = { debug: say, info: say, warn: say, error: say }
    const metrics = { count: (_, { reason }, by) => { counts[reason] = (counts[reason] ?? 0) + by } }
    const writer = new RequestWriter({ folder: ${JSON.stringify(folder)}, bounds: ${JSON.stringify(LARGE)}, log, metrics })
    for (let round = 0; round < 4; round++) {
      for (let index = 0; index < 20; index++) writer.write('{"level":"info","time":1,"id":"r","x":"' + 'x'.repeat(400) + '"}\\n')
      await new Promise(resolve => setTimeout(resolve, ${scaled(300)}))
    }
    await writer.close()
    console.log(JSON.stringify({ counts, texts }))`
    const child = spawn('sh', [
      '-c',
      'ulimit -f 4; exec "$0" "$@"',
      process.execPath,
      '--input-type=module',
      '-e',
      program,
    ])
    let out = ''
    child.stdout.on('data', text => (out += text))
    child.stderr.pipe(process.stderr)
    await once(child, 'close')
    const { counts, texts } = JSON.parse(out) as { counts: { failed: number }; texts: string[] }
    t.equal(counts.failed, 80)
    t.same(texts, ['the request log cannot be written; requests go on'])
    t.ok(filesIn(folder).every(name => statSync(join(folder, name)).size > 0))
  },
)

t.test('request log: follows several writers over rotations and misses nothing', async t => {
  const folder = join(t.testdir({}), 'requests')
  // 4 KiB a file: each writer rotates many times.
  const small = { size: 8_192, age: 86_400_000 }
  const large = { ...small, size: 1e9 }
  const writers = [startWriter(t, folder, large), startWriter(t, folder, large)]
  writers[0]?.writer.write(line({ id: 'before' }))
  await eventually(async () => existsSync(folder) && (await all(folder)).length === 1)
  const log = openRequestLog(folder)
  const stop = new AbortController()
  const news = log.follow({ status: '200' }, stop.signal)
  const ids: string[] = []
  const reading = (async () => {
    for await (const records of news) {
      ids.push(...records.map(({ id }) => id))
      if (ids.length === 400) stop.abort()
    }
  })()
  for (let index = 0; index < 400; index++) {
    writers[index % 2]?.writer.write(line({ id: `r${index}`, time: Date.now() }))
    writers[index % 2]?.writer.write(line({ id: `e${index}`, status: 500 }))
    if (index % 50 === 0) {
      await pause(30)
      // An operator or a writer with smaller bounds removes files meanwhile.
      if (index === 200) writers.push(startWriter(t, folder, { ...large, age: 640 }))
    }
  }
  await reading
  t.equal(new Set(ids).size, 400)
  t.notOk(ids.includes('before'))
})

t.test('request log: reads lines longer than a chunk, and nothing of a removed file', async t => {
  const folder = t.testdir({ lines: `short\n${'x'.repeat(200_000)}\nlast\ncut` })
  const path = join(folder, 'lines')
  const lines = async (file: string) =>
    (await Array.fromAsync(linesBackwards(file))).map(each => each.length)
  t.same(await lines(path), [4, 200_000, 5])
  t.equal(await lineStart(path, 100_000), 100_000, 'no line begins in the chunk before')
  t.equal(await lineStart(path, 8), 6)
  t.equal(await lineStart(path, 3), 3)
  t.match(await linesAfter(path, 200_007), { lines: ['last'], at: 200_012 })
  t.same(await linesAfter(path, 999_999), { lines: [], at: 999_999 })
  const removed = join(folder, 'removed')
  t.same(await lines(removed), [])
  t.equal(await lineStart(removed, 7), 7)
  t.same(await linesAfter(removed, 7), { lines: [], at: 7 })
})

t.test(
  'request log: files sort by time and name, others and missing folders do not count',
  async t => {
    const names = [nameAt(2, 7, 1), nameAt(1, 9, 1), nameAt(1, 7, 2)]
    const folder = t.testdir(Object.fromEntries([...names, 'other'].map(name => [name, 'text'])))
    const listed = () => listFiles(folder).map(({ name }) => name)
    t.same(listed(), [nameAt(1, 7, 2), nameAt(1, 9, 1), nameAt(2, 7, 1)])
    t.same(listFiles(join(folder, 'none')), [])
    pruneFiles(folder, { size: 8, age: 1e15 }, 'none', Date.now())
    t.same(listed(), [nameAt(1, 9, 1), nameAt(2, 7, 1)], 'the oldest goes first')
    pruneFiles(folder, { size: 1e9, age: -1 }, nameAt(1, 9, 1), Date.now())
    t.same(listed(), [nameAt(1, 9, 1)], 'the current file stays')
  },
)

t.test('request log: lines beyond the buffer are dropped and counted', async t => {
  const { writer, counts } = startWriter(t, join(t.testdir({}), 'requests'))
  writer.write('x'.repeat(4 * 1024 * 1024))
  writer.write('y'.repeat(4 * 1024 * 1024))
  writer.write('z\n')
  t.same(counts, { dropped: 1 })
})
