/** The command `tollgate files`: lists stored files, and removes bytes without a file. */
import { EXIT, textOf } from '../../engine/cli/kit.ts'
import type { Command, ReportProgress, SingleCommand } from '../../engine/plugin.ts'
import { findAccount } from '../credentials/find.ts'
import { copyFiles, restoreFiles } from '../file-store/backup.ts'
import { type FileStore, fileStoreOf } from '../file-store/file-store.ts'
import { LIST_ANY } from '../file-store/statements.ts'
import { fileOf, NO_ACCOUNT, type StoredFile } from '../file-store/stored-file.ts'

const MAX_FILES = 1_000

const timeOf = (ms: number | undefined): string =>
  ms === undefined ? '' : new Date(ms).toISOString()
const rowOf = (file: StoredFile) => ({
  id: file.id,
  account: file.account === NO_ACCOUNT ? '' : file.account,
  purpose: file.purpose,
  bytes: file.bytes,
  created: timeOf(file.created),
  expires: timeOf(file.expires),
  filename: file.filename,
})

/** Reports each file, and collects the ids of damaged ones. */
const progressOf = async (store: FileStore, report: ReportProgress | undefined) => {
  const all = await store.count()
  const damaged: string[] = []
  let done = 0
  const add = ({ id }: StoredFile, isDamaged: boolean): void => {
    if (isDamaged) damaged.push(id)
    report?.('checked', ++done, all, 'files')
  }
  return { damaged, add }
}

const subcommands: Readonly<Record<string, SingleCommand>> = {
  list: {
    summary: `Lists stored files, newest first: at most ${MAX_FILES}.`,
    example: 'tollgate files list --account ann',
    options: {
      account: { type: 'string', value: 'NAME', summary: 'only files of this account' },
    },
    async run({ values }, { database }) {
      const name = textOf(values.account)
      const account = name === undefined ? 0 : (await findAccount(database, name)).id
      const rows = await database.read(LIST_ANY, [account, account, MAX_FILES])
      return { rows: rows.map(row => rowOf(fileOf(row))) }
    },
  },
  backup: {
    arguments: 'FOLDER',
    summary:
      'Copies all files to a folder that it did not copy before, and verifies them; the gateway may keep running.',
    example: 'tollgate files backup /backup/files',
    async run({ positionals: [folder = ''], report }, host) {
      const store = fileStoreOf(host)
      const progress = await progressOf(store, report)
      const { damaged } = progress
      const counts = await copyFiles(store, folder, progress.add)
      return {
        rows: [{ ...counts }],
        ...(damaged.length > 0 && {
          after: `without their bytes, or with others: ${damaged.join(', ')}`,
          exit: EXIT.problems,
        }),
      }
    },
  },
  restore: {
    arguments: 'FOLDER',
    summary:
      'Puts bytes that are missing or damaged back from a folder made by `files backup`, and verifies them.',
    example: 'tollgate files restore /backup/files',
    async run({ positionals: [folder = ''], report }, host) {
      const store = fileStoreOf(host)
      const progress = await progressOf(store, report)
      const { damaged } = progress
      const counts = await restoreFiles(store, folder, progress.add)
      return {
        rows: [{ ...counts }],
        ...(damaged.length > 0 && {
          after: `not in the folder, or with other bytes: ${damaged.join(', ')}`,
          exit: EXIT.problems,
        }),
      }
    },
  },
  gc: {
    summary:
      'Removes bytes that belong to no file, and abandoned uploads: in a folder after an hour without progress, in a bucket after a day. A gateway does the same every hour.',
    example: 'tollgate files gc',
    async run(_, host) {
      const { unfinished, orphans, bytes } = await fileStoreOf(host).removeOrphans()
      return { rows: [{ unfinished, orphans, bytes }] }
    },
  },
}
export const commands: Readonly<Record<string, Command>> = {
  files: { summary: 'Shows and cleans up stored files.', subcommands },
}
