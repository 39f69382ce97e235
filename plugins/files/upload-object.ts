/** An upload in parts as OpenAI's clients see it, and the one that a request names. */
import type { Exchange, HostBase } from '../../engine/plugin.ts'
import { readAs } from '../credentials/members.ts'
import type { StoredFile } from '../file-store/stored-file.ts'
import { FIND_UPLOAD, type UploadRow, uploadOf } from '../file-store/upload-rows.ts'
import { ACCOUNT } from '../slots.ts'
import { fault } from './faults.ts'
import { fileView } from './view.ts'

/** The ids of parts are those of their files behind it. */
export const PART = 'part_'

export const uploadView = (upload: UploadRow, file?: StoredFile) => ({
  id: upload.id,
  object: 'upload',
  bytes: upload.bytes,
  created_at: Math.floor(upload.created / 1_000),
  expires_at: Math.floor(upload.expires / 1_000),
  filename: upload.filename,
  purpose: upload.purpose,
  status: isExpired(upload) ? 'expired' : upload.state,
  file: file ? fileView(file) : null,
})
const isExpired = ({ state, expires }: UploadRow): boolean =>
  state === 'pending' && Date.now() >= expires

/** Throws UPLOAD_UNKNOWN, or UPLOAD_ENDED for one that takes no more parts. */
export const findOpenUpload = async (
  { params, slots }: Exchange,
  host: HostBase,
): Promise<UploadRow> => {
  const id = params.upload_id ?? ''
  const [row] = await readAs(host.database, slots.need(ACCOUNT), FIND_UPLOAD, [id])
  if (!row) throw fault('UPLOAD_UNKNOWN', [id.slice(0, 100)])
  const upload = uploadOf(row)
  const { status } = uploadView(upload)
  if (status !== 'pending') throw fault('UPLOAD_ENDED', [status])
  return upload
}
