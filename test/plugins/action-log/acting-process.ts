/** A process that runs operations until it is killed. Usage: `node acting-process.ts OPTIONS
 *  PREFIX`; it sends the name of each account that it has created. */
import { openDatabase } from '../../../engine/store/database.ts'
import { hostWith, run } from '../../helpers/store/actions.ts'

const [, , options = '{}', prefix = ''] = process.argv
const database = await openDatabase(JSON.parse(options))
const host = hostWith(database, { key: 'k'.repeat(32) })
for (let at = 1; ; at++) {
  const name = `${prefix}-${at}`
  await run(host, 'accounts create', { name })
  process.send?.(name)
}
