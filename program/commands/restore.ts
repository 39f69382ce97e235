/** `tollgate restore FILE`: puts a copy made by `backup` in the place of the embedded store. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  type Arguments,
  configOf,
  progressOn,
  type SingleCommand,
  type Terminal,
} from '../../engine/cli/command.ts'
import { EXIT, textOf, UsageError } from '../../engine/cli/kit.ts'
import { type Open, settingsOf } from '../../engine/cli/load-for-command.ts'
import { withPluginCommands } from '../../engine/cli/plugin-commands.ts'
import { runPluginCommand } from '../../engine/cli/run-command.ts'
import { withInstanceLock } from '../../engine/cli/store/instance-use.ts'
import { auditStore, migratedDatabase } from '../../engine/cli/store/store-audit.ts'
import {
  isPostgres,
  isWriterListening,
  locate,
  openDatabase,
  socketOf,
} from '../../engine/store/database.ts'
import { createLazyDatabase } from '../../engine/store/lazy-database.ts'
import { refuseMoved, removeMoveMark } from '../../engine/store/move/mark.ts'
import { copyStore, hasRows } from '../../engine/store/sqlite/copy.ts'
import { openLock, takeLockInTime } from '../../engine/store/sqlite/store-lock.ts'

export default {
  arguments: 'FILE',
  summary:
    'Puts a backup in the place of the embedded store, after an audit of it. The gateway must be stopped.',
  example: 'restore tollgate-monday.db',
  options: {
    replace: {
      type: 'boolean',
      summary: 'also if there is a store with data; it is kept beside, with its time in the name',
    },
    files: {
      type: 'string',
      value: 'FOLDER',
      summary: 'also put back the files of a folder made by "files backup"',
    },
  },
  async run(args, terminal) {
    const backup = resolve(args.positionals[0] ?? '')
    const config = configOf(args, terminal)
    const settings = settingsOf(config, terminal)
    if (isPostgres(settings.database))
      throw new UsageError('The store is PostgreSQL; restore it with pg_restore')
    const { file } = locate(settings.database, settings.data)
    const isAnyway = args.values.anyway === true
    if (!isAnyway) for (const each of [file, backup]) refuseMoved(each)
    const files = textOf(args.values.files)
    const reason =
      (existsSync(backup) ? undefined : `there is no file ${backup}`) ??
      (files === undefined || existsSync(files) ? undefined : `there is no folder ${files}`)
    if (reason !== undefined) {
      terminal.printError(reason)
      return EXIT.runTime
    }
    return withInstanceLock(settings.data, terminal, async () => {
      const exit = await restore({ backup, file, config }, args, terminal)
      return exit === EXIT.ok && files !== undefined ? restoreFiles(files, config, terminal) : exit
    })
  },
} satisfies SingleCommand

const notEmpty = (file: string): string =>
  `the store ${file} has data; stop if that is not expected, otherwise repeat with --replace`

interface Order {
  readonly backup: string
  /** The store. */
  readonly file: string
  readonly config: string
}
/** Until the end no command writes to the store that is set aside. */
const restore = async (order: Order, args: Arguments, terminal: Terminal): Promise<number> => {
  const { file } = order
  mkdirSync(dirname(file), { recursive: true })
  const lock = openLock(file)
  try {
    const isLocked = !(await isWriterListening(socketOf(file))) && (await takeLockInTime(lock))
    const reason = isLocked ? undefined : 'another program uses the store; end it first'
    const refusal = reason ?? (args.values.replace || !hasRows(file) ? undefined : notEmpty(file))
    if (refusal === undefined) return await replaceStore(order, args, terminal)
    terminal.printError(refusal)
    return EXIT.runTime
  } finally {
    lock.close()
  }
}

const replaceStore = async (order: Order, { values }: Arguments, terminal: Terminal) => {
  const { backup, file, config } = order
  // Beside the store, so that the last step is one rename.
  const folder = mkdtempSync(join(dirname(file), 'restore-'))
  try {
    const candidate = join(folder, 'tollgate.db')
    const report = progressOn(terminal)
    const copy = (from: string, to: string) =>
      copyStore(from, to, (done, all) => report('copied', done, all, 'bytes'))
    const defect = await copy(backup, candidate).then(() => undefined, defectOf)
    if (defect !== undefined) {
      terminal.printError(`${backup} is not a backup of a store: ${defect}. Nothing was restored.`)
      return EXIT.runTime
    }
    // The backup of a moved store is in use again, by --anyway.
    removeMoveMark(candidate)
    const findings = await audit(candidate, config, terminal)
    if (findings.length > 0) {
      for (const finding of findings) terminal.printError(`${backup}: ${finding}`)
      terminal.printError('nothing was restored')
      return EXIT.problems
    }
    // A copy has no log beside it that could be lost.
    const final = join(folder, 'final.db')
    await copy(candidate, final)
    const previous = setAside(file)
    renameSync(final, file)
    const text = `${file} restored from ${backup}; the audit passed`
    const keptNote = previous === undefined ? '' : `\nthe previous store is ${previous}`
    terminal.print(values.json ? JSON.stringify({ file, backup, previous }) : text + keptNote)
    return EXIT.ok
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Rethrows an error that is not about the content of a backup: no space, or no permission. */
const defectOf = (error: Error): string => {
  if (/not a database|malformed/.test(error.message)) return error.message
  throw error
}

/** Opens the copy with the plugins of the configuration, which migrate it if it is older. */
const audit = (candidate: string, config: string, terminal: Terminal) => {
  const open: Open = ({ data }) =>
    createLazyDatabase(() => openDatabase({ url: `sqlite:${candidate}`, data, start: true }))
  return withPluginCommands(config, terminal, open, commands => auditStore(commands, terminal))
}

/** Runs `files restore`, which knows where files are kept. */
const restoreFiles = (folder: string, config: string, terminal: Terminal): Promise<number> =>
  withPluginCommands(config, terminal, migratedDatabase(), async commands => {
    const command = commands.get('files')
    if (!command) throw new UsageError('no plugin of this configuration keeps files')
    return runPluginCommand('files', command, ['restore', folder], terminal)
  })

/** Renames a store with its log and its index. Returns the new name; undefined if there is none. */
const setAside = (file: string): string | undefined => {
  const name = `${file}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`
  for (const suffix of ['-wal', '-shm', ''])
    if (existsSync(file + suffix)) renameSync(file + suffix, name + suffix)
  return existsSync(name) ? name : undefined
}
