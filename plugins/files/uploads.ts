/** Files that arrive in parts: create, complete, cancel. The whole is checked and stored like a
 *  file in one piece. */
import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { isCode } from '../../engine/kit.ts'
import { type FileStore, type FileWriter, fileStoreOf } from '../file-store/file-store.ts'
import { type StoredFile, UPLOAD_PART } from '../file-store/stored-file.ts'
import {
  addUpload,
  endUpload,
  makeUploadId,
  reopenUpload,
  type UploadRow,
  withdrawUpload,
} from '../file-store/upload-rows.ts'
import type { Fields } from '../formats/fields.ts'
import { writeWithRetry } from '../ledger/write-with-retry.ts'
import { COMMIT_FAULTS } from '../slots.ts'
import { Undo } from '../undo/undo.ts'
import { contentCheckOf } from './content-check.ts'
import { fault } from './faults.ts'
import { checkExtension, purposeOf, typeOf } from './purposes.ts'
import { nameOf, ownerIn } from './upload.ts'
import { findOpenUpload, PART, uploadView } from './upload-object.ts'
import { addPart } from './upload-parts.ts'
import type { View } from './views.ts'

/** ms that parts may be added. */
const LIFETIME = 3_600_000

const create: View = async (exchange, host) => {
  const body = (await exchange.request.json()) as Fields
  const store = fileStoreOf(host)
  const purpose = purposeOf(String(body.purpose))
  const filename = nameOf(String(body.filename))
  checkExtension(extname(filename).toLowerCase(), purpose)
  const bytes = Number(body.bytes)
  const limit = store.settings.sizes[purpose]
  if (bytes > limit) throw fault('FILE_TOO_LARGE', [limit])
  const owner = ownerIn(exchange)
  await store.checkQuota(owner.account, bytes)
  const { seconds } = (body.expires_after ?? {}) as { readonly seconds?: number }
  const created = Date.now()
  const upload: UploadRow = {
    id: makeUploadId(),
    ...owner,
    purpose,
    filename,
    bytes,
    lifetime: seconds === undefined ? undefined : seconds * 1_000,
    state: 'pending',
    file: undefined,
    created,
    expires: created + LIFETIME,
  }
  Undo.of(exchange).add({ undo: [withdrawUpload(upload.id)] })
  exchange.writes.add(addUpload(upload))
  exchange.answer(200, uploadView(upload))
}

const complete: View = async (exchange, host) => {
  const upload = await findOpenUpload(exchange, host)
  const { part_ids: ids, md5 = null } = (await exchange.request.json()) as Fields
  const store = fileStoreOf(host)
  const parts = await findParts(ids as readonly string[], upload, store)
  const sum = parts.reduce((total, { bytes }) => total + bytes, 0)
  if (sum !== upload.bytes) throw fault('UPLOAD_BYTES', [sum, upload.bytes])
  const writer = await store.begin()
  try {
    const digest = await copyParts(parts, upload, store, writer)
    if (typeof md5 === 'string' && md5.toLowerCase() !== digest) throw fault('UPLOAD_MD5')
    const { account, maker, purpose, filename, lifetime } = upload
    const created = Date.now()
    const usual = purpose === 'batch' ? store.settings.batchLifetime : undefined
    const age = lifetime ?? usual
    const file = await store.saveWith(exchange, writer, {
      account,
      maker,
      purpose,
      filename,
      type: typeOf(extname(filename).toLowerCase()),
      created,
      expires: age === undefined ? undefined : created + age,
    })
    const ended = fault('UPLOAD_ENDED', ['completed'])
    exchange.slots.set(COMMIT_FAULTS, {
      ...exchange.slots.get(COMMIT_FAULTS),
      UPLOAD_MOVED: ended,
    })
    Undo.of(exchange).add({ undo: [reopenUpload(upload.id)] })
    exchange.writes.add(endUpload(upload.id, 'completed', file.id))
    exchange.answer(200, uploadView({ ...upload, state: 'completed' }, file))
  } catch (error) {
    await writer.abort().catch(() => {})
    throw error
  }
}
const findParts = async (
  ids: readonly string[],
  { id: upload, account }: UploadRow,
  store: FileStore,
): Promise<readonly StoredFile[]> => {
  const names = ids.map(id => (id.startsWith(PART) ? id.slice(PART.length) : ''))
  const files = await store.findNamed(names, { id: account })
  return names.map((name, index) => {
    const file = files.find(({ id }) => id === name)
    if (file?.purpose !== UPLOAD_PART || file.filename !== upload)
      throw fault('PART_UNKNOWN', [ids[index]?.slice(0, 100) ?? ''])
    return file
  })
}
/** The MD5 of the whole, in hex. */
const copyParts = async (
  parts: readonly StoredFile[],
  { filename }: UploadRow,
  store: FileStore,
  writer: FileWriter,
): Promise<string> => {
  const check = contentCheckOf(extname(filename).toLowerCase())
  const hash = createHash('md5')
  for (const part of parts)
    for await (const chunk of await store.read(part, 0, part.bytes)) {
      check.write(chunk)
      hash.update(chunk)
      await writer.write(chunk)
    }
  check.end()
  return hash.digest('hex')
}

const cancel: View = async (exchange, host) => {
  const upload = await findOpenUpload(exchange, host)
  try {
    await writeWithRetry(host.database, [endUpload(upload.id, 'cancelled')])
  } catch (error) {
    throw isCode(error, 'UPLOAD_MOVED') ? fault('UPLOAD_ENDED', ['completed']) : error
  }
  exchange.answer(200, uploadView({ ...upload, state: 'cancelled' }))
}

export const UPLOAD_VIEWS: Readonly<Record<string, View>> = {
  'create-upload': create,
  'add-part': addPart,
  'complete-upload': complete,
  'cancel-upload': cancel,
}
