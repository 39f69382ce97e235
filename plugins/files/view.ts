/** A file as OpenAI's clients see it. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { StoredFile } from '../file-store/stored-file.ts'

const seconds = (ms: number): number => Math.floor(ms / 1_000)

export const fileView = (file: StoredFile) => ({
  id: file.id,
  object: 'file',
  bytes: file.bytes,
  created_at: seconds(file.created),
  ...(file.expires !== undefined && { expires_at: seconds(file.expires) }),
  filename: file.filename,
  purpose: file.purpose,
  status: 'processed',
  status_details: null,
})
/** One page of files. */
export const listView = (files: readonly StoredFile[], hasMore: boolean): Json => ({
  object: 'list',
  data: files.map(fileView),
  first_id: files[0]?.id ?? null,
  last_id: files.at(-1)?.id ?? null,
  has_more: hasMore,
})
export const deletedView = ({ id }: StoredFile): Json => ({ id, object: 'file', deleted: true })
