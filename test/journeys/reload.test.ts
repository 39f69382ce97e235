/** A change goes live by itself, says what changed, and can be taken back. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { folderWith, type Primary, routes, spawnPrimary, startPrimary } from '../helpers/primary.ts'

const stamp = async (primary: Primary) => {
  const response = await fetch(`${primary.url}/stamp`)
  const body = (await response.json()) as { text: string; version: number }
  return { ...body, header: Number(response.headers.get('x-tollgate-version')) }
}

t.test('edits, atomic saves and half-written files', async t => {
  const primary = await startPrimary(t, { files: folderWith() })
  const file = join(primary.folder, 'routes.yaml')
  t.match(await stamp(primary), { text: 'one', version: 1, header: 1 })

  t.test('an edit in place', async t => {
    primary.write('routes.yaml', routes('two'))
    await primary.until(/reload #2: route stamp .*, \d+ ms/)
    t.match(await stamp(primary), { text: 'two', version: 2, header: 2 })
    t.equal(await primary.metric('config_version'), 2)
    t.equal(await primary.metric('config_reload_ok'), 1)
  })
  t.test('an atomic save, as editors do it', async t => {
    primary.write('.routes.yaml.swp', routes('three'))
    renameSync(join(primary.folder, '.routes.yaml.swp'), file)
    await primary.until(/reload #3: /)
    t.match(await stamp(primary), { text: 'three', version: 3 })
  })
  t.test('a half-written file is a problem until the rest arrives', async t => {
    const whole = routes('four')
    writeFileSync(file, whole.slice(0, whole.length - 30))
    await primary.until(/still serving #3/)
    t.match(await stamp(primary), { text: 'three' })
    t.equal(await primary.metric('config_reload_ok'), 0)
    const { failure } = await primary.config()
    t.match(failure?.problems[0], { file: 'routes.yaml', line: Number, column: Number })
    writeFileSync(file, whole)
    await primary.until(/reload #4: /)
    t.match(await stamp(primary), { text: 'four', version: 4 })
    t.equal((await primary.config()).failure, null)
  })
  t.test('the same content again is no new version', async t => {
    writeFileSync(file, routes('four'))
    t.match(await primary.ask('reload'), { outcome: 'unchanged', version: 4 })
    t.match(await stamp(primary), { version: 4 })
  })
  t.test('another plugin source is another version', async t => {
    const source = readFileSync(join(primary.folder, 'plugins/stamp.ts'), 'utf8')
    primary.write('plugins/stamp.ts', source.replace('{ text,', '{ text: text.toUpperCase(),'))
    await primary.until(/reload #5: plugins\/stamp.ts rebuilt, \d+ ms/)
    t.match(await stamp(primary), { text: 'FOUR', version: 5 })
  })
})

t.test('a mounted folder whose link is swapped', async t => {
  const files = folderWith()
  const primary = await (async () => {
    const { 'routes.yaml': first = '', ...plugins } = files
    return startPrimary(t, {
      files: { ...plugins, '..1/routes.yaml': first, '..2/routes.yaml': routes('two') },
      prepare: folder => {
        symlinkSync('..1', join(folder, '..now'))
        symlinkSync('..now/routes.yaml', join(folder, 'routes.yaml'))
      },
    })
  })()
  t.match(await stamp(primary), { text: 'one' })
  symlinkSync('..2', join(primary.folder, '..next'))
  renameSync(join(primary.folder, '..next'), join(primary.folder, '..now'))
  await primary.until(/reload #2: /)
  t.match(await stamp(primary), { text: 'two', version: 2 })
})

t.test('history, rollback and restart', async t => {
  const secret = 'sk-canary-secret'
  const files = folderWith('one', '  egress_allow: ${SECRET_PLACE}')
  const env = { SECRET_PLACE: secret }
  const primary = await startPrimary(t, { files, env })
  const kept = join(primary.folder, 'data/history')
  const more = '  egress_allow: ${SECRET_PLACE}'
  for (const [index, text] of ['two', 'three'].entries()) {
    primary.write('routes.yaml', routes(text, more))
    await primary.state(view => view.version === index + 2)
  }

  t.test('is for the eyes of the owner, and holds no resolved value', async t => {
    t.same(readdirSync(kept).sort(), ['1.json', '2.json', '3.json'])
    for (const name of readdirSync(kept)) {
      t.equal(statSync(join(kept, name)).mode & 0o777, 0o600)
      const text = readFileSync(join(kept, name), 'utf8')
      t.notMatch(text, secret)
      t.match(text, '${SECRET_PLACE}')
    }
  })
  t.test('rollback puts the previous version live, again and again', async t => {
    t.match(await primary.ask('rollback'), { outcome: 'live', version: 4 })
    t.match(await stamp(primary), { text: 'two', version: 4 })
    t.match(await primary.ask('rollback'), { outcome: 'live', version: 5, text: /back to #1/ })
    t.match(await stamp(primary), { text: 'one', version: 5 })
    t.match(await primary.ask('rollback'), {
      outcome: 'problems',
      version: 5,
      problems: [{ code: 'NO_VERSION' }],
    })
    t.match(await primary.ask('rollback?to=3'), { outcome: 'live', version: 6 })
    t.match(await stamp(primary), { text: 'three', version: 6 })
    t.match(await primary.ask('rollback?to=2'), { outcome: 'live', version: 7 })
  })
  t.test('what was rolled back stays so until the files change or are asked for', async t => {
    primary.write('README.txt', 'a change in a watched folder, but none of the configuration')
    await new Promise(resolve => setTimeout(resolve, 300))
    t.match(await stamp(primary), { text: 'two', version: 7 })
    t.match(await primary.ask('reload'), { outcome: 'live', version: 8 })
    t.match(await stamp(primary), { text: 'three', version: 8 })
  })
  t.test('an older plugin comes back with its version', async t => {
    const source = readFileSync(join(primary.folder, 'plugins/stamp.ts'), 'utf8')
    primary.write('plugins/stamp.ts', source.replace('{ text,', '{ text: text.toUpperCase(),'))
    await primary.state(view => view.version === 9)
    t.match(await stamp(primary), { text: 'THREE' })
    t.match(await primary.ask('rollback'), { outcome: 'live', version: 10 })
    t.match(await stamp(primary), { text: 'three', version: 10 })
  })
  t.test('numbers go on after a restart', async t => {
    primary.child.kill('SIGTERM')
    t.equal(await primary.ended(), 0)
    t.notOk(existsSync(join(primary.folder, 'data/run.json')))
    const again = await startPrimary(t, { files: {}, folder: primary.folder, env })
    t.match(await stamp(again), { text: 'THREE', version: 11 })
    again.child.kill('SIGTERM')
    t.equal(await again.ended(), 0)
    const third = await startPrimary(t, { files: {}, folder: primary.folder, env })
    t.match(
      await stamp(third),
      { text: 'THREE', version: 11 },
      'the same content is the same version',
    )
  })
})
