/** A file as OpenAI's clients see it. Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { StoredFile } from '../file-store/stored-file.ts'
import type { FileView } from '../views.ts'

const seconds = (ms: number): number => Math.floor(ms / 1_000)

export const fileView = (file: StoredFile): FileView & { readonly [name: string]: Json } => ({
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
export const deletedView = ({ id }: StoredFile): Json => ({ id, object: 'file', deleted: true })
