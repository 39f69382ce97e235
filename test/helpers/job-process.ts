/** A process that does a job: `node job-process.ts <options of the store as JSON> <lease ms>`. Says when a run begins and ends. */
import { openDatabase } from '../../engine/store/database.ts'
import { createJobs } from '../../engine/store/jobs.ts'

const [options = '{}', lease = '1000'] = process.argv.slice(2)
const database = await openDatabase(JSON.parse(options))
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const jobs = createJobs({ database, log, lease: Number(lease) })
const say = (what: string): void => {
  process.send?.({ what, pid: process.pid })
}
/** Works until told to stop. Every step is a row: the database has them in order. */
const step = { name: 'step', text: 'INSERT INTO steps (pid) VALUES (?)' }
const stop = jobs.start('sweep', 1, async signal => {
  for (let steps = 0; !signal.aborted; steps++) {
    await database.write([{ sql: step, values: [process.pid] }])
    if (steps === 0) say('begin')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  say('end')
})
process.on('message', async message => {
  if (message !== 'stop') return
  stop()
  await jobs.close()
  await database.close()
  process.disconnect?.()
})
say('up')
