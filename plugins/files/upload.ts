/** Uploads: reads the form while it arrives, and writes its file to the store. Memory does not grow
 *  with the file, and a refused or broken upload leaves nothing. */
import { basename, extname } from 'node:path'
import type { Bytes, Exchange, Stage } from '../../engine/plugin.ts'
import { type Owner, ownerOf } from '../credentials/members.ts'
import { integerIn } from '../dialects/openai-query.ts'
import type { FileStore, FileWriter } from '../file-store/file-store.ts'
import { freeMemory } from '../file-store/free-memory.ts'
import type { Purpose } from '../file-store/settings.ts'
import type { StoredFile } from '../file-store/stored-file.ts'
import { boundaryOf, type FormEvent, FormReader } from '../formats/media/multipart.ts'
import { ACCOUNT } from '../slots.ts'
import { ABOUT } from './about.ts'
import { type ContentCheck, contentCheckOf } from './content-check.ts'
import { fault } from './faults.ts'
import { MAX_OVERHEAD } from './problems.ts'
import { checkExtension, purposeOf, typeOf } from './purposes.ts'
import { fileView } from './view.ts'

const MAX_FIELD = 4_096
const MAX_FILENAME = 255
const LIFETIME = { min: 3_600, max: 2_592_000 } as const
const [ANCHOR, SECONDS] = ['expires_after[anchor]', 'expires_after[seconds]']

export class UploadStage implements Stage {
  readonly answers = true
  readonly #store: FileStore

  constructor(store: FileStore) {
    this.#store = store
  }
  async handle(exchange: Exchange): Promise<void> {
    const { request } = exchange
    const owner = ownerIn(exchange)
    const boundary = boundaryIn(request.headers['content-type'])
    const length = Number(request.headers['content-length'] ?? 0)
    const limit = largestIn(this.#store)
    if (length > limit + MAX_OVERHEAD) throw fault('FILE_TOO_LARGE', [limit])
    await this.#store.checkQuota(owner.account, Math.max(0, length - MAX_OVERHEAD))
    const upload = new Upload(this.#store, boundary)
    try {
      for await (const chunk of request.stream()) {
        await upload.read(chunk)
        freeMemory(chunk)
      }
      const file = await upload.save(exchange, owner, Date.now())
      exchange.answer(200, fileView(file))
    } catch (error) {
      request.stop()
      // Bytes that cannot be removed now are removed later; the client reads the first error.
      await upload.abort().catch(() => {})
      throw error
    }
  }
  describe() {
    return ABOUT.upload ?? {}
  }
  explain() {
    return { view: 'upload', sizes: this.#store.settings.sizes }
  }
}
export const boundaryIn = (type: string | undefined): string => {
  const boundary = boundaryOf(type)
  if (boundary !== undefined) return boundary
  throw fault(/^\s*multipart\//i.test(type ?? '') ? 'FORM_UNREADABLE' : 'FORM_ONLY')
}
export const ownerIn = ({ slots }: Exchange): Owner => ownerOf(slots.need(ACCOUNT))
const largestIn = ({ settings }: FileStore): number => Math.max(...Object.values(settings.sizes))

interface FilePart {
  readonly filename: string
  readonly extension: string
  readonly check: ContentCheck
  readonly writer: FileWriter
  size: number
}
/** The part that is being read: the file, or a field with its content so far. */
type OpenPart = { readonly file: FilePart } | { readonly name: string; text: string }

class Upload {
  readonly #store: FileStore
  readonly #reader: FormReader
  readonly #fields = new Map<string, string>()
  #purpose: Purpose | undefined
  #part: OpenPart | undefined
  #file: FilePart | undefined
  /** Bytes outside of the file. */
  #overhead = 0

  constructor(store: FileStore, boundary: string) {
    this.#store = store
    this.#reader = new FormReader(boundary)
  }
  async read(chunk: Bytes): Promise<void> {
    const sizeBefore = this.#file?.size ?? 0
    for (const event of this.#reader.read(chunk)) {
      const work = this.#take(event)
      if (work) await work
    }
    if (this.#reader.state === 'invalid') throw fault('FORM_UNREADABLE')
    this.#overhead += chunk.length - ((this.#file?.size ?? 0) - sizeBefore)
    if (this.#overhead > MAX_OVERHEAD) throw fault('FORM_UNREADABLE')
  }
  async save(exchange: Exchange, owner: Owner, now: number): Promise<StoredFile> {
    if (this.#reader.state !== 'complete') throw fault('FORM_UNREADABLE')
    const file = this.#file
    if (!file) throw fault('FIELD_MISSING', ['file'], { param: 'file' })
    if (!this.#purpose) throw fault('FIELD_MISSING', ['purpose'], { param: 'purpose' })
    const expires = this.#expires(now, this.#purpose)
    const { filename, extension, writer } = file
    const row = { purpose: this.#purpose, filename, created: now, expires }
    return this.#store.saveWith(exchange, writer, {
      ...row,
      ...owner,
      type: typeOf(extension),
    })
  }
  async abort(): Promise<void> {
    await this.#file?.writer.abort()
  }
  #take(event: FormEvent): Promise<void> | undefined {
    const part = this.#part
    if (event.kind === 'part') return this.#openPart(event.head)
    if (event.kind === 'end') this.#endPart()
    else if (part && 'file' in part) return this.#writeFile(part.file, event.bytes)
    else if (part) {
      part.text += Buffer.from(event.bytes).toString('latin1')
      if (part.text.length > MAX_FIELD)
        throw fault('FORM_LONG', [part.name, MAX_FIELD], { param: part.name })
    }
    return undefined
  }
  async #openPart(head: FormPartHead): Promise<void> {
    const { name, file: isFile } = head
    if (isFile && name !== 'file') throw fault('FORM_FILE', [name], { param: name })
    if (this.#fields.has(name) || (this.#file && name === 'file'))
      throw fault('FORM_TWICE', [name], { param: name })
    this.#part = name === 'file' ? { file: await this.#openFile(head) } : { name, text: '' }
  }
  async #openFile(head: FormPartHead): Promise<FilePart> {
    const filename = nameOf(head.filename ?? '')
    if (filename === '') throw fault('FILE_UNNAMED')
    const extension = extname(filename).toLowerCase()
    checkExtension(extension, this.#purpose)
    const writer = await this.#store.begin()
    this.#file = { filename, extension, check: contentCheckOf(extension), writer, size: 0 }
    return this.#file
  }
  #endPart(): void {
    const part = this.#part
    this.#part = undefined
    if (part && 'file' in part) {
      if (part.file.size === 0) throw fault('FILE_EMPTY')
      part.file.check.end()
    } else if (part) {
      // The content was read byte by byte, since a chunk may end within a character.
      this.#setField(part.name, Buffer.from(part.text, 'latin1').toString())
    }
  }
  #setField(name: string, text: string): void {
    this.#fields.set(name, text)
    if (name === ANCHOR && text !== 'created_at') throw fault('EXPIRY_ANCHOR', [text.slice(0, 100)])
    if (name === SECONDS) integerIn(SECONDS, text, LIFETIME.min, LIFETIME.max)
    if (name !== 'purpose') return
    this.#purpose = purposeOf(text)
    if (!this.#file) return
    checkExtension(this.#file.extension, this.#purpose)
    this.#checkSize(this.#file.size)
  }
  #writeFile(file: FilePart, bytes: Bytes): Promise<void> | undefined {
    file.size += bytes.length
    this.#checkSize(file.size)
    file.check.write(bytes)
    return file.writer.write(bytes)
  }
  /** A form may name the purpose behind the file: until then the largest limit counts. */
  #checkSize(size: number): void {
    const { sizes } = this.#store.settings
    const limit = this.#purpose ? sizes[this.#purpose] : largestIn(this.#store)
    if (size > limit) throw fault('FILE_TOO_LARGE', [limit])
  }
  #expires(now: number, purpose: Purpose): number | undefined {
    const [anchor, seconds] = [this.#fields.get(ANCHOR), this.#fields.get(SECONDS)]
    if ((anchor === undefined) !== (seconds === undefined)) {
      const name = anchor === undefined ? ANCHOR : SECONDS
      throw fault('EXPIRY_MISSING', [name], { param: name })
    }
    if (seconds !== undefined) return now + Number(seconds) * 1_000
    return purpose === 'batch' ? now + this.#store.settings.batchLifetime : undefined
  }
}
type FormPartHead = Extract<FormEvent, { kind: 'part' }>['head']

/** The file name without folders and control characters. */
export const nameOf = (filename: string): string =>
  basename(filename.replaceAll('\\', '/'))
    .replace(/[\x00-\x1f\x7f]/g, '')
    .toWellFormed()
    .slice(-MAX_FILENAME)
