/** Watched paths: files that the configuration reads or would read, and no others. */
import { mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findWatchedPaths } from '../../../engine/config/watched-paths.ts'
import { countChanges, watchFolder } from '../../helpers/watched.ts'

t.test('watch: other files of a folder are ignored', async t => {
  const files = await watchFolder(t, { 'routes.yaml': 'a', 'x.log': 'key', parts: {} }, [
    'routes.yaml',
    'parts/*.yaml',
    'x.log',
  ])
  const { folder, waitForChange } = files
  const changes = await countChanges(files, () => {
    for (const name of ['access', 'routes.yaml.1', 'requests.json', 'parts/requests.json'])
      writeFileSync(join(folder, name), 'longer')
    mkdirSync(join(folder, 'parts/later.yaml.d'))
  })
  t.equal(changes, 0)
  await waitForChange(() => writeFileSync(join(folder, 'parts/later.yaml'), 'a'))
  await waitForChange(() => writeFileSync(join(folder, 'x.log'), 'a log that is a watched path'))
  await waitForChange(() => unlinkSync(join(folder, 'parts/later.yaml')))
})

t.test('watch: an added path is reported once, a removed one is not', async t => {
  const files = await watchFolder(t, { 'routes.yaml': 'a', 'b.json': 'b', 'c.json': 'c' })
  const { folder, waitForChange, watch } = files
  const at = (...names: readonly string[]) =>
    findWatchedPaths(names.map(name => join(folder, name)))
  await waitForChange(() => watch.update(at('routes.yaml', 'b.json', 'c.json')))
  t.equal(await countChanges(files, () => watch.update(at('routes.yaml', 'b.json'))), 0)
  t.equal(await countChanges(files, () => writeFileSync(join(folder, 'c.json'), 'd')), 0)
  await waitForChange(() => writeFileSync(join(folder, 'b.json'), 'e'))
})

t.test('watched paths: files, links and missing paths', async t => {
  const folder = t.testdir({ a: { 'x.yaml': '' }, b: { c: {} } })
  symlinkSync('../a/x.yaml', join(folder, 'b/link.yaml'))
  symlinkSync(join(folder, 'b'), join(folder, 'absolute'))
  const names = (path: string) =>
    findWatchedPaths([join(folder, path)]).map(each => each.slice(folder.length))
  t.same(names('a/x.yaml'), ['/a/x.yaml'])
  t.same(names('a'), ['/a/*'], 'all of a folder')
  t.same(names('a/*.yaml'), ['/a/*.yaml'])
  t.same(names('d/*.yaml'), ['/d'])
  t.same(names('b/link.yaml'), ['/a/x.yaml', '/b/link.yaml'])
  t.same(names('absolute/link.yaml'), [
    '/a/x.yaml',
    '/absolute',
    '/absolute/link.yaml',
    '/b/link.yaml',
  ])
  t.same(names('b/c/d/e.yaml'), ['/b/c/d'])
  symlinkSync('loop', join(folder, 'loop'))
  t.same(names('loop'), ['/loop'], 'a link to itself ends')
})
