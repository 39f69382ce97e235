/** Replaced files: whole or not at all, through links, with the mode that they had. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { replaceFile } from '../../../engine/processes/builder/replace-file.ts'

t.test('replace file: keeps mode and link, and refuses a text that has changed', async t => {
  const folder = t.testdir({})
  const file = join(folder, 'routes.yaml')
  writeFileSync(file, 'old', { mode: 0o640 })
  symlinkSync(file, join(folder, 'link'))
  t.notOk(replaceFile(file, 'new', 'other'))
  t.equal(readFileSync(file, 'utf8'), 'old')
  t.ok(replaceFile(join(folder, 'link'), 'new', 'old'))
  t.equal(readFileSync(file, 'utf8'), 'new')
  t.equal(statSync(file).mode & 0o777, 0o640)
  t.same(readdirSync(folder).sort(), ['link', 'routes.yaml'])
})

t.test('replace file: a draft of this process in the way changes nothing', async t => {
  const folder = t.testdir({ 'routes.yaml': 'old' })
  const file = join(folder, 'routes.yaml')
  mkdirSync(`${file}.${process.pid}.draft`)
  t.throws(() => replaceFile(file, 'new', 'old'), { code: 'EEXIST' })
  t.equal(readFileSync(file, 'utf8'), 'old')
})
