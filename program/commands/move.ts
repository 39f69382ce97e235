/** `tollgate move --to postgres://…`: moves the embedded store to PostgreSQL. */
import { existsSync } from 'node:fs'
import {
  type Arguments,
  configOf,
  progressOn,
  type SingleCommand,
  type Terminal,
} from '../../engine/cli/command.ts'
import { openWithTables } from '../../engine/cli/databases.ts'
import { EXIT, textOf, UsageError } from '../../engine/cli/kit.ts'
import { type Open, settingsOf } from '../../engine/cli/load-for-command.ts'
import { withPluginCommands } from '../../engine/cli/plugin-commands.ts'
import { withInstanceLock } from '../../engine/cli/store/instance-use.ts'
import { auditStore, migratedDatabase } from '../../engine/cli/store/store-audit.ts'
import { isCode } from '../../engine/kit.ts'
import {
  isPostgres,
  isWriterListening,
  locate,
  socketOf,
  storeIdentity,
} from '../../engine/store/database.ts'
import { createLazyDatabase } from '../../engine/store/lazy-database.ts'
import { readMoveMark, refuseMoved, writeMoveMark } from '../../engine/store/move/mark.ts'
import { type MoveReport, moveTables } from '../../engine/store/move/move.ts'
import { Source } from '../../engine/store/move/source.ts'
import { openTarget } from '../../engine/store/move/target.ts'
import { openLock, takeLockInTime } from '../../engine/store/sqlite/store-lock.ts'

export default {
  summary:
    'Moves the embedded store to an empty PostgreSQL database and compares both. Repeat it if it was interrupted.',
  example: 'move --to postgres://tollgate@db.internal/tollgate',
  options: {
    to: { type: 'string', value: 'URL', summary: 'the PostgreSQL database; it must be empty' },
    without: {
      type: 'string',
      value: 'TABLE',
      multiple: true,
      summary: 'leave the rows of this table behind',
    },
  },
  async run(args, terminal) {
    const url = textOf(args.values.to) ?? ''
    if (!isPostgres(url))
      throw new UsageError('--to is a database such as postgres://user@host/name')
    const config = configOf(args, terminal)
    const { database, data } = settingsOf(config, terminal)
    if (isPostgres(database))
      throw new UsageError('the store is PostgreSQL already: settings.database')
    const { file } = locate(database, data)
    if (!existsSync(file)) {
      terminal.printError(`there is no store at ${file}`)
      return EXIT.runTime
    }
    const isAnyway = args.values.anyway === true
    if (!isAnyway) refuseMovedElsewhere(file, url)
    return withInstanceLock(data, terminal, () => moveFrom(file, url, args, terminal))
  },
} satisfies SingleCommand

const UNSETTLED =
  'processes of a gateway crashed and their calls are not settled; start the gateway for half a minute, stop it, and move again'

/** Until the end no gateway starts on the data folder. */
const moveFrom = async (file: string, url: string, args: Arguments, terminal: Terminal) => {
  const config = configOf(args, terminal)
  if (await isWriterListening(socketOf(file))) {
    terminal.printError(inUse(file))
    return EXIT.runTime
  }
  if (!(await isBalanced(config, terminal, migratedDatabase(true), 'source'))) return EXIT.problems
  const lock = openLock(file)
  const source = new Source(file)
  try {
    // From now on no command and no gateway of another folder writes what would stay behind.
    if (!(await takeLockInTime(lock))) {
      terminal.printError(inUse(file))
      return EXIT.runTime
    }
    // Another move may have ended while this one waited for the lock.
    if (args.values.anyway !== true) refuseMovedElsewhere(file, url)
    if (source.crashedProcesses() > 0) {
      terminal.printError(UNSETTLED)
      return EXIT.runTime
    }
    return await moveTo(url, source, args, terminal)
  } finally {
    source.close()
    lock.close()
  }
}

/** A move to the same database may be repeated. */
const refuseMovedElsewhere = (file: string, url: string): void => {
  if (readMoveMark(file)?.target !== storeIdentity(url)) refuseMoved(file)
}

const inUse = (file: string): string => `another program uses ${file}; end it first`

const isBalanced = (config: string, terminal: Terminal, open: Open, side: string) =>
  withPluginCommands(config, terminal, open, async commands => {
    const findings = await auditStore(commands, terminal)
    for (const finding of findings) terminal.printError(`${side}: ${finding}`)
    return findings.length === 0
  })

const moveTo = async (url: string, source: Source, args: Arguments, terminal: Terminal) => {
  const config = configOf(args, terminal)
  const without = Array.isArray(args.values.without) ? (args.values.without as string[]) : []
  const target = await openTarget(url, source.identity()).catch(error => {
    // An earlier run finished the target, and the source has no mark.
    if (isCode(error, 'MOVE_FINISHED') && !readMoveMark(source.file))
      writeMoveMark(source.file, storeIdentity(url), Date.now())
    throw error
  })
  try {
    const open: Open = ({ data }) =>
      createLazyDatabase(() => openWithTables({ url, data, isMoveTarget: true }))
    // Loading the configuration creates the tables.
    await withPluginCommands(config, terminal, open, async () => {})
    const report = await moveTables({ source, target, without, report: progressOn(terminal) })
    if (!(await isBalanced(config, terminal, open, 'target'))) return EXIT.problems
    // Mark the source before the target is finished: after a crash in between, the gateway refuses
    // both stores, and the messages say to repeat the move.
    writeMoveMark(source.file, storeIdentity(url), Date.now())
    await target.finish()
    show(report, args, terminal)
    return EXIT.ok
  } finally {
    await target.close()
  }
}
const show = ({ tables, copied }: MoveReport, { values }: Arguments, terminal: Terminal): void => {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  if (values.json) terminal.print(JSON.stringify({ rows, copied, tables }, null, 2))
  else
    terminal.print(
      `${rows} rows in ${tables.length} tables moved (${copied} by this run); counts, sums and the audit agree\n` +
        'Set settings.database (DATABASE_URL) to the new database, then start the gateway. The old file is marked as moved: the gateway and its\n' +
        'commands refuse it. Keep it until you trust the new database.',
    )
}
