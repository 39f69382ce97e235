/** A process that does a job: `node job-process.ts <options of the store as JSON> <ms between two heartbeats>`. Says when a run begins and ends. */
import { openDatabase } from '../../engine/store/database.ts'
import { createJobs } from '../../engine/store/jobs.ts'
import { Leases } from '../../engine/store/leases.ts'
import { createMembership } from '../../engine/store/membership.ts'
import { timeoutsAt } from './timeouts.ts'

const [options = '{}', heartbeat = '1000'] = process.argv.slice(2)
const database = await openDatabase(JSON.parse(options))
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const membership = createMembership({ database, log, timeouts: timeoutsAt(Number(heartbeat)) })
const jobs = createJobs({ leases: new Leases({ database, membership }), log })
membership.start()
const say = (what: string): void => {
  process.send?.({ what, pid: process.pid })
}
/** Works until told to stop. Every step is a row: the database has them in order. */
const step = { name: 'step', text: 'INSERT INTO steps (pid) VALUES (?)' }
const job = jobs.start('sweep', 1, async signal => {
  for (let steps = 0; !signal.aborted; steps++) {
    await database.write([{ sql: step, values: [process.pid] }])
    if (steps === 0) say('begin')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  say('end')
})
process.on('message', async message => {
  if (message !== 'stop') return
  job.stop()
  await jobs.close()
  await membership.close()
  await database.close()
  process.disconnect?.()
})
say('up')
