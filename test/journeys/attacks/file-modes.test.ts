/** Modes of the data folder under any umask, also behind a symbolic link: no file in it, and no
 *  socket, is open to others. */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway } from '../../helpers/gateway/gateway.ts'

/** Everything in the folder that others may read, write or connect to. */
const openIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap(entry => {
    const path = join(entry.parentPath, entry.name)
    const mode = lstatSync(path).mode & 0o777
    // The cache of bundles has no secrets.
    const isExempt = entry.isDirectory() || entry.isSymbolicLink() || path.includes('/cache/')
    return isExempt || (mode & 0o077) === 0 ? [] : [`${path} ${mode.toString(8)}`]
  })

for (const umask of [0o000, 0o022, 0o077])
  for (const isLink of [false, true]) {
    const title = `umask ${umask.toString(8).padStart(3, '0')}${isLink ? ', behind a link' : ''}`
    t.test(`data folder: nothing in it is open to others, ${title}`, async t => {
      const parent = mkdtempSync(join(tmpdir(), 'modes-'))
      const folder = join(parent, isLink ? 'real' : 'data')
      const dataFolder = join(parent, 'data')
      mkdirSync(folder, { mode: 0o700 })
      if (isLink) symlinkSync(folder, dataFolder)
      const before = process.umask(umask)
      const gateway = await startGateway({ data: dataFolder }).finally(() => process.umask(before))
      t.teardown(() => gateway.stop())
      await gateway.key()
      const { code, err } = await tollgate(['accounts', 'create', 'ann'], {
        TOLLGATE_DATA: dataFolder,
      })
      t.equal(code, 0, err)
      t.equal((await gateway.askAdmin('/-/health')).status, 200)
      t.equal(statSync(folder).mode & 0o777, 0o700)
      t.ok(lstatSync(join(folder, 'admin.socket')).isSocket())
      t.same(openIn(folder), [])
    })
  }
