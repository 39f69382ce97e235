/** Finds a call in the journal of this machine by its id. */
import { errors } from '../../engine/errors.ts'
import { isFields } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'
import { listFiles } from '../../engine/request-log/files.ts'
import { linesBackwards } from '../../engine/request-log/lines.ts'
import { linesOfBucket } from './bucket-writer.ts'
import { bucketOf, folderOf } from './journal.ts'
import type { JournalRecord } from './record.ts'
import type { Section } from './section.ts'

const fault = errors({
  JOURNAL_ABSENT: [409, 'No journal is configured: add the section `journal:`'],
  JOURNAL_UNKNOWN: [
    404,
    'The journal has no call "%s": it was not chosen, its account has not consented, or it was removed',
  ],
})

/** Rejects with JOURNAL_ABSENT or JOURNAL_UNKNOWN. */
export const findRecord = async (
  host: Pick<HostBase, 'folder'>,
  section: Section | undefined,
  id: string,
): Promise<JournalRecord> => {
  if (!section) throw fault('JOURNAL_ABSENT')
  const start = `{"id":${JSON.stringify(id)},`
  for await (const line of linesOf(host, section))
    if (line.startsWith(start)) {
      const record: unknown = JSON.parse(line)
      if (isFields(record)) return record as unknown as JournalRecord
    }
  throw fault('JOURNAL_UNKNOWN', [id])
}

/** The latest first. */
async function* linesOf(host: Pick<HostBase, 'folder'>, section: Section): AsyncGenerator<string> {
  const bucket = bucketOf(section)
  if (bucket) return yield* linesOfBucket(bucket)
  for (const { path } of listFiles(folderOf(host, section)).toReversed())
    yield* linesBackwards(path)
}
