/** A process with a job (`node job-process.ts <store options as JSON> <heartbeat interval in ms>`):
 *  reports the begin and the end of each run to its parent. */
import { openDatabase } from '../../../engine/store/database.ts'
import { createJobs } from '../../../engine/store/jobs.ts'
import { Leases } from '../../../engine/store/leases.ts'
import { createMembership } from '../../../engine/store/membership.ts'
import { timeoutsAt } from '../../helpers/clocks.ts'

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
/** Runs until the signal is aborted. Every step is a row, so that the database has the order of all
 *  steps. A write may fail when the process was suspended for longer than the write timeout: then
 *  the run has ended as well. */
const STEP = { name: 'step', text: 'INSERT INTO steps (pid) VALUES (?)' }
const job = jobs.start('sweep', 1, async signal => {
  let steps = 0
  try {
    for (; !signal.aborted; steps++) {
      await database.write([{ sql: STEP, values: [process.pid] }])
      if (steps === 0) say('begin')
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  } finally {
    if (steps > 0) say('end')
  }
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
