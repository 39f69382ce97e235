/** A process that empties the outbox until it is killed. Usage: `node webhook-process.ts <data
 *  folder>`. */
import { openDatabase } from '../../../engine/store/database.ts'
import { emptyOutbox } from '../../../plugins/webhooks/outbox.ts'
import { publicAccess } from '../../helpers/money/receiver.ts'

const database = await openDatabase({
  url: 'sqlite:',
  data: process.argv[2] ?? '',
  writeTimeout: 60_000,
})
const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const metrics = { count: quiet, time: quiet, gauge: quiet }
const stop = new AbortController()
process.on('disconnect', () => process.exit())
void emptyOutbox({ ...publicAccess('127.0.0.0/8'), database, log, metrics }, stop.signal)
