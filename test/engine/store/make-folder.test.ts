/** Creating folders in a parent that cannot be used. */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../../engine/store/make-folder.ts'

t.test('folders: all missing parents are made', t => {
  const path = join(t.testdir(), 'a/b/c')
  makeFolder(path, 0o700)
  makeFolder(path, 0o700)
  t.ok(existsSync(path))
  t.equal(statSync(path).mode & 0o777, 0o700)
  t.end()
})

t.test('folders: a deleted working folder is an error', t => {
  const code = `
    import { rmSync } from 'node:fs'
    import { makeFolder } from ${JSON.stringify(resolve('engine/store/make-folder.ts'))}
    rmSync(process.cwd(), { recursive: true })
    try { makeFolder('data/requests') } catch ({ code }) { console.log(code) }
  `
  const options = { cwd: t.testdir(), encoding: 'utf8', timeout: 60_000 } as const
  const { stdout, signal } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', code],
    options,
  )
  t.equal(signal, null, "Node's own recursive mkdir would never return")
  t.equal(stdout, 'ENOENT\n')
  t.end()
})
