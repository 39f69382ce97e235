/** Adds a part to an upload: a stored file that expires with it. */
import { type FileWriter, fileStoreOf } from '../file-store/file-store.ts'
import { freeMemory } from '../file-store/free-memory.ts'
import { UPLOAD_PART } from '../file-store/stored-file.ts'
import { type FormEvent, FormReader } from '../formats/media/multipart.ts'
import { fault } from './faults.ts'
import { boundaryIn } from './upload.ts'
import { findOpenUpload, PART } from './upload-object.ts'
import type { View } from './views.ts'

/** Bytes. */
const MAX_PART = 64 * 2 ** 20

export const addPart: View = async (exchange, host) => {
  const { request } = exchange
  const upload = await findOpenUpload(exchange, host)
  const reader = new FormReader(boundaryIn(request.headers['content-type']))
  const store = fileStoreOf(host)
  await store.checkQuota(upload.account, Number(request.headers['content-length'] ?? 0))
  const part = new PartContent(await store.begin())
  try {
    for await (const chunk of request.stream()) {
      for (const event of reader.read(chunk)) await part.take(event)
      if (reader.state === 'invalid') throw fault('FORM_UNREADABLE')
      freeMemory(chunk)
    }
    if (reader.state !== 'complete') throw fault('FORM_UNREADABLE')
    if (part.size === 0) throw fault('FIELD_MISSING', ['data'], { param: 'data' })
    const created = Date.now()
    const { id } = await store.saveWith(exchange, part.writer, {
      account: upload.account,
      maker: upload.maker,
      purpose: UPLOAD_PART,
      filename: upload.id,
      type: 'application/octet-stream',
      created,
      expires: upload.expires,
    })
    exchange.answer(200, {
      id: PART + id,
      object: 'upload.part',
      created_at: Math.floor(created / 1_000),
      upload_id: upload.id,
    })
  } catch (error) {
    request.stop()
    await part.writer.abort().catch(() => {})
    throw error
  }
}
/** The one member of the form. */
class PartContent {
  readonly writer: FileWriter
  size = 0
  #hasBegun = false
  constructor(writer: FileWriter) {
    this.writer = writer
  }
  async take(event: FormEvent): Promise<void> {
    if (event.kind === 'part') {
      const { name } = event.head
      if (name !== 'data') throw fault('FORM_FILE_ONLY', [name.slice(0, 100)], { param: 'data' })
      if (this.#hasBegun) throw fault('FORM_TWICE', [name], { param: name })
      this.#hasBegun = true
    } else if (event.kind === 'content') {
      this.size += event.bytes.length
      if (this.size > MAX_PART) throw fault('PART_TOO_LARGE', [MAX_PART])
      await this.writer.write(event.bytes)
    }
  }
}
