/** `tollgate doctor`: whether the journal can be written, and removed after its time. */
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { DoctorFinding, HostBase } from '../../engine/plugin.ts'
import { checkWritable } from '../../engine/store/make-folder.ts'
import type { BlobStore } from '../file-store/blob-store.ts'
import { bucketOf } from './journal.ts'
import { sectionOf } from './operator-part.ts'

export const diagnoseJournal = async (
  host: HostBase,
  data: string,
): Promise<readonly DoctorFinding[]> => {
  const section = sectionOf(host)
  if (!section) return []
  const bucket = bucketOf(section)
  const place = bucket ? section.to.replace(/\?.*/s, '') : folderIn(data, section.to)
  try {
    if (bucket) await tryBucket(bucket)
    else checkWritable(place)
    const text = `${place} can be written`
    return [{ check: 'journal', state: 'ok', text, advice: '' }]
  } catch (error) {
    const { message, cause } = error as Error
    const text = `${place} cannot be used: ${String(cause ?? message)}`
    return [{ check: 'journal', state: 'failure', text, advice: bucket ? OF_BUCKET : OF_FOLDER }]
  }
}
const OF_BUCKET =
  'is the address in journal.to right, and may its key write, list and delete objects?'
const OF_FOLDER = 'give the user of the gateway this folder, or set journal.to to another one'

const folderIn = (data: string, to: string): string => resolve(data, to.replace(/^file:/, ''))

/** Writes, lists and removes an object that no reader takes for a part of the journal. */
const tryBucket = async (bucket: BlobStore): Promise<void> => {
  const name = `doctor-${randomUUID()}.txt`
  const writer = await bucket.create(name, 'doctor')
  await writer.write(Buffer.from('tollgate doctor\n'))
  await writer.commit()
  try {
    for await (const _ of bucket.pages()) break
  } finally {
    await bucket.remove(name)
  }
}
