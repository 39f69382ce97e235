/** History: stores, prunes and finds versions. */
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { History, type HistoryEntry } from '../../../engine/processes/history.ts'

const entry = (version: number, from?: number): HistoryEntry => ({
  version,
  hash: `h${version}`,
  time: '2026-01-01T00:00:00.000Z',
  files: { 'routes.yaml': `# ${version}` },
  plugins: [],
  ...(from !== undefined && { from }),
})

t.test('history: keeps twenty versions, readable by the owner only', async t => {
  const folder = join(t.testdir(), 'history')
  const history = new History(folder, t.testdirName)
  t.equal(history.last, undefined)
  for (let version = 1; version <= 25; version++) history.save(entry(version))
  t.equal(readdirSync(folder).length, 20)
  t.equal(history.last?.version, 25)
  t.equal(history.find(5), undefined)
  t.same(history.find(6), entry(6))
  t.equal(statSync(join(folder, '25.json')).mode & 0o777, 0o600)
  t.equal(statSync(folder).mode & 0o777, 0o700)
})

t.test(
  'history: the version before a rollback is not one that the rollback has undone',
  async t => {
    const history = new History(t.testdir(), t.testdirName)
    for (const version of [10, 11, 12]) history.save(entry(version))
    t.equal(history.previousTo(12)?.version, 11)
    history.save(entry(13, 11))
    t.equal(history.previousTo(13)?.version, 10)
    history.save(entry(14, 10))
    t.equal(history.previousTo(14), undefined)
  },
)

t.test('history: skips an incomplete entry', async t => {
  const folder = t.testdir({ '2.json': '{"version":', 'notes.txt': '' })
  const history = new History(folder, folder)
  history.save(entry(1))
  t.equal(history.last?.version, 1)
  t.equal(history.find(2), undefined)
})

t.test('history: removes bundles that no stored version has used for an hour', async t => {
  const files = ['used-1.mjs', 'old-2.mjs', 'old-2.mjs.map', 'new-3.mjs', 'new-3.mjs.map']
  const names = [...files, 'meta.json']
  const cache = t.testdir(Object.fromEntries(names.map(name => [name, ''])))
  const path = (name: string) => join(cache, name)
  const long = Date.now() / 1000 - 7200
  // A bundle is touched when it is used, the map beside it is not.
  for (const name of names) if (name !== 'new-3.mjs') utimesSync(path(name), long, long)
  const history = new History(join(cache, 'history'), cache)
  const plugins = [{ name: 'used', file: 'plugins/used.ts', bundle: path('used-1.mjs'), hash: '1' }]
  history.save({ ...entry(1), plugins })
  t.same(
    names.filter(name => existsSync(path(name))),
    ['used-1.mjs', 'new-3.mjs', 'new-3.mjs.map', 'meta.json'],
  )
  writeFileSync(path('later-4.mjs'), '')
})
