/** `npx tollgate start` in a folder with the installed package: signals to npx end the gateway. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findRunning } from '../../engine/processes/running-gateway.ts'
import { freePort } from '../helpers/free-port.ts'
import { eventually } from '../helpers/gateway/primary.ts'
import { processesOf } from '../helpers/process-tree.ts'
import { installPackage } from './installed-package.ts'

const ports = { PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}`, WORKERS: '1' }
const { folder, run, start } = installPackage(t, ports)
t.match(run('npx --no-install tollgate init'), { status: 0 })

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'])
  t.test(`npx: ${signal} to npx ends the gateway, which leaves no process`, async t => {
    // A background job of a shell ignores SIGINT unless the shell controls jobs.
    const line = 'set -m; npx --no-install tollgate start & echo "npx $!"; wait'
    const gateway = await start(line, / serves[\s\S]*npx \d|npx \d[\s\S]* serves/)
    const npx = Number(/npx (\d+)/.exec(gateway.text())?.[1])
    const { pid } = await eventually(() => findRunning(join(folder, 'data')))
    const tree = processesOf(pid)
    t.ok(tree.length >= 2, 'a primary and a worker')
    // npm leaves SIGINT to the terminal, which sends it to the whole process group.
    process.kill(signal === 'SIGINT' ? -npx : npx, signal)
    await eventually(() => !tree.some(isThere))
    t.notOk(findRunning(join(folder, 'data')), 'it ended in order')
  })

/** Whether a process runs: one that nobody has waited for yet does not. */
const isThere = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
