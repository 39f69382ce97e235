/** Watch with real files: each save is reported once, however it is written. */
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findWatchedPaths } from '../../../engine/config/watched-paths.ts'
import { settled, untold, watched } from '../../helpers/watched.ts'

t.test('watch: a change before the watch is ready is reported', async t => {
  const { count } = await watched(t, { 'routes.yaml': 'a' })
  t.equal(count(), 1)
})

t.test('watch: plain, atomic and backup saves are reported', async t => {
  const { folder, told } = await watched(t, { 'routes.yaml': 'a' })
  const file = join(folder, 'routes.yaml')
  await told(() => writeFileSync(file, 'b'))
  for (const text of ['c', 'd', 'e'])
    await told(() => {
      writeFileSync(join(folder, '.routes.yaml.swp'), text)
      renameSync(join(folder, '.routes.yaml.swp'), file)
    })
  await told(() => {
    renameSync(file, `${file}~`)
    writeFileSync(file, 'f')
    unlinkSync(`${file}~`)
  })
  await told(() => writeFileSync(file, 'g'))
  t.equal(readFileSync(file, 'utf8'), 'g')
})

t.test('watch: a burst is reported once, with its last state', async t => {
  const { folder, told, count } = await watched(t, { 'routes.yaml': 'a' })
  const before = count()
  await told(() => {
    for (let index = 0; index < 50; index++) writeFileSync(join(folder, 'routes.yaml'), `b${index}`)
  })
  t.equal(count() - before, 1)
})

t.test('watch: continuous saves are reported', async t => {
  const { folder, told } = await watched(t, { 'routes.yaml': 'a' })
  let index = 0
  const timer = setInterval(() => writeFileSync(join(folder, 'routes.yaml'), `b${index++}`), 10)
  t.teardown(() => clearInterval(timer))
  await told(() => {})
  await told(() => {})
  clearInterval(timer)
})

t.test('watch: equal content, changed times and temporary files are not reported', async t => {
  const files = await watched(t, { 'routes.yaml': 'a' })
  const at = (name: string) => join(files.folder, name)
  const wrong = await untold(files, () => {
    writeFileSync(at('routes.yaml'), 'a')
    utimesSync(at('routes.yaml'), new Date(), new Date())
    for (const name of [
      '.routes.yaml.swp',
      'routes.yaml~',
      '.#routes.yaml',
      '#routes.yaml#',
      '4913',
      'x.tmp',
      'gate.log',
    ])
      writeFileSync(at(name), 'noise')
    writeFileSync(at('tollgate.db-wal'), 'pages')
  })
  t.equal(wrong, 0)
})

t.test('watch: a file that is completed later is reported again', async t => {
  const { folder, told } = await watched(t, { 'routes.yaml': 'routes: [a]' })
  const file = join(folder, 'routes.yaml')
  await told(() => writeFileSync(file, 'routes: ['))
  await told(() => writeFileSync(file, 'routes: [b]'))
})

t.test('watch: a file that is created, removed and created again', async t => {
  const { folder, told } = await watched(t, { 'routes.yaml': 'a', parts: {} }, [
    'routes.yaml',
    'parts',
  ])
  const file = join(folder, 'parts/x.yaml')
  await told(() => writeFileSync(file, 'a'))
  await told(() => unlinkSync(file))
  await told(() => writeFileSync(file, 'a'))
})

t.test('watch: the target of a link is watched', async t => {
  const folder = t.testdir({ real: { 'routes.yaml': 'a' }, config: {} })
  symlinkSync('../real/routes.yaml', join(folder, 'config/routes.yaml'))
  const { told } = await settled(t, folder, ['config/routes.yaml'])
  await told(() => writeFileSync(join(folder, 'real/routes.yaml'), 'b'))
  await told(() => {
    writeFileSync(join(folder, 'real/new.yaml'), 'c')
    renameSync(join(folder, 'real/new.yaml'), join(folder, 'real/routes.yaml'))
  })
})

t.test('watch: every swap of the ..data link of a ConfigMap is reported', async t => {
  const folder = t.testdir({ '..1': { 'routes.yaml': 'v1' } })
  symlinkSync('..1', join(folder, '..data'))
  symlinkSync('..data/routes.yaml', join(folder, 'routes.yaml'))
  const { told, watch } = await settled(t, folder, ['routes.yaml'])
  for (const version of [2, 3, 4])
    await told(() => {
      mkdirSync(join(folder, `..${version}`))
      writeFileSync(join(folder, `..${version}/routes.yaml`), `v${version}`)
      symlinkSync(`..${version}`, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
      rmSync(join(folder, `..${version - 1}`), { recursive: true })
      watch.update(findWatchedPaths([join(folder, 'routes.yaml')]))
    })
})

t.test('watch: a swapped link above the file is reported', async t => {
  const folder = t.testdir({ one: { 'routes.yaml': '1' }, two: { 'routes.yaml': '2' } })
  symlinkSync('one', join(folder, 'current'))
  const { told, watch } = await settled(t, folder, ['current/routes.yaml'])
  await told(() => {
    symlinkSync('two', join(folder, 'next'))
    renameSync(join(folder, 'next'), join(folder, 'current'))
  })
  await told(() => watch.update(findWatchedPaths([join(folder, 'current/routes.yaml')])))
  await told(() => writeFileSync(join(folder, 'two/routes.yaml'), '3'))
})

t.test('folders may be added and dropped; a folder that comes later is seen', async t => {
  const files = await watched(t, { 'routes.yaml': 'a', plugins: { 'a.ts': '1' } }, [
    'routes.yaml',
    'later/x.yaml',
  ])
  const { folder, told, watch } = files
  await told(() => mkdirSync(join(folder, 'later')))
  await told(() =>
    watch.update(
      findWatchedPaths([
        join(folder, 'routes.yaml'),
        join(folder, 'later'),
        join(folder, 'plugins'),
      ]),
    ),
  )
  await told(() => writeFileSync(join(folder, 'later/x.yaml'), '1'))
  await told(() => writeFileSync(join(folder, 'plugins/a.ts'), '2'))
  watch.update(findWatchedPaths([join(folder, 'routes.yaml')]))
  t.equal(await untold(files, () => writeFileSync(join(folder, 'plugins/a.ts'), '3')), 0)
})

t.test('a folder that vanishes harms nobody', async t => {
  const { folder, told } = await watched(t, { 'routes.yaml': 'a', plugins: { 'a.ts': '1' } }, [
    'routes.yaml',
    'plugins',
  ])
  await told(() => rmSync(join(folder, 'plugins'), { recursive: true }))
  await told(() => writeFileSync(join(folder, 'routes.yaml'), 'b'))
})

/** As the primary does it: whatever changed, the places are found anew. */
const following = async (t: Test, files: Record<string, unknown>, paths: readonly string[]) => {
  const folder = t.testdir(files as Parameters<Test['testdir']>[0])
  const each = await settled(t, folder, paths)
  const at = (name: string) => join(folder, name)
  const told = async (act: () => void) => {
    await each.told(act)
    each.watch.update(findWatchedPaths(paths.map(at)))
  }
  return { ...each, told, at }
}

t.test('a file whose path was an empty folder for a while: watched again', async t => {
  const { told, at } = await following(t, { 'routes.yaml': 'a', 'saved.yaml': 'a' }, [
    'routes.yaml',
  ])
  await told(() => {
    rmSync(at('routes.yaml'))
    mkdirSync(at('routes.yaml'))
  })
  // The watch of the parent folder is closed once the new one stands.
  await new Promise(resolve => setTimeout(resolve, 500))
  await told(() => {
    rmSync(at('routes.yaml'), { recursive: true })
    writeFileSync(at('routes.yaml'), 'a')
  })
  await told(() => writeFileSync(at('routes.yaml'), 'b'))
  await told(() => writeFileSync(at('routes.yaml'), 'c'))
})

t.test('a folder that another one replaces: files of the new one are watched', async t => {
  const { told, at } = await following(t, { 'routes.yaml': 'a', plugins: { 'a.ts': '1' } }, [
    'routes.yaml',
    'plugins',
  ])
  await told(() => {
    renameSync(at('plugins'), at('old'))
    mkdirSync(at('plugins'))
    writeFileSync(at('plugins/a.ts'), '2')
  })
  await told(() => writeFileSync(at('plugins/a.ts'), '3'))
  await told(() => writeFileSync(at('plugins/a.ts'), '4'))
})

t.test('after close nothing is told', async t => {
  const { folder, watch, count } = await watched(t, { 'routes.yaml': 'a' })
  const before = count()
  writeFileSync(join(folder, 'routes.yaml'), 'b')
  await watch.close()
  watch.update([folder])
  writeFileSync(join(folder, 'routes.yaml'), 'c')
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal(count(), before)
})
