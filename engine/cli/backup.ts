/** `tollgate backup`: copies the embedded store at one instant, also beside a running gateway. */
import { existsSync, statSync } from 'node:fs'
import { isPostgres, locate } from '../store/address.ts'
import { copyStore } from '../store/sqlite/copy.ts'
import { configOf, progressOn, type SingleCommand } from './command.ts'
import { EXIT, UsageError } from './kit.ts'
import { settingsOf } from './load-for-command.ts'
import { refuseOtherStore } from './store/store-in-use.ts'

export default {
  arguments: 'FILE',
  summary:
    'Copies the embedded store to a file and verifies the copy; the gateway may keep running.',
  example: 'backup tollgate-monday.db',
  async run(args, terminal) {
    const [file = ''] = args.positionals
    const { database, data } = settingsOf(configOf(args, terminal), terminal)
    if (isPostgres(database))
      throw new UsageError('The store is PostgreSQL; back it up with pg_dump')
    const source = locate(database, data).file
    if (!existsSync(source)) {
      terminal.printError(`there is no store at ${source} yet`)
      return EXIT.runTime
    }
    if (args.values.anyway !== true) await refuseOtherStore(database, data)
    if (existsSync(file)) throw new UsageError(`${file} exists; it was not overwritten`)
    const report = progressOn(terminal)
    await copyStore(source, file, (done, all) => report('copied', done, all, 'bytes'))
    const { size } = statSync(file)
    terminal.print(
      args.values.json ? JSON.stringify({ file, bytes: size }) : `${file}: ${size} bytes`,
    )
    return EXIT.ok
  },
} satisfies SingleCommand
