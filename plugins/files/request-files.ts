/** Finds the stored files that a request names, before the request is priced and translated. */
import type { Attempt, Exchange, Host, Json, Next, Stage } from '../../engine/plugin.ts'
import { fault } from '../file-store/faults.ts'
import { mayNameFile, namesFile } from '../file-store/file-ids.ts'
import { findNamedFiles } from '../file-store/named-files.ts'
import { referencesIn } from '../file-store/request-references.ts'
import { type Fields, isFields } from '../formats/fields.ts'
import type { Codec } from '../formats/hub/codec.ts'
import { ACCOUNT, EXPANDED_REQUEST, NAMED_FILES, type NamedFile } from '../slots.ts'

const FORM = /^\s*multipart\//i

export class RequestFiles implements Stage {
  readonly #host: Host
  readonly #codec: Codec

  constructor(host: Host, codec: Codec) {
    this.#host = host
    this.#codec = codec
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    const { request, slots } = exchange
    if (FORM.test(request.headers['content-type'] ?? '')) return next()
    const expanded = slots.get(EXPANDED_REQUEST)
    if (expanded?.longer) return this.#find(exchange, expanded.body).then(next)
    return request
      .bytes()
      .then(bytes => (mayNameFile(bytes) ? this.#find(exchange).then(next) : next()))
  }
  /** A call that a task resumes passes only the stages behind `task`. */
  forward({ exchange }: Attempt, next: Next): Promise<void> {
    if (exchange.kind !== 'turn' || exchange.slots.get(NAMED_FILES)) return next()
    return this.handle(exchange, next)
  }
  async #find({ request, slots }: Exchange, expandedBody?: Json): Promise<void> {
    const body = expandedBody ?? request.parsed ?? (await request.json())
    const base = this.#host.url('')
    if (!isFields(body) || !namesFile(body, base)) return
    refuseInContainers(body, base)
    const references = referencesIn({ body, path: request.path, codec: this.#codec }, base)
    if (references.length === 0) return
    const { files, bytes } = await findNamedFiles(this.#host, slots.get(ACCOUNT), references)
    const filesByText = references.map(
      ({ text, id }) => [text, files.get(id) as NamedFile] as const,
    )
    slots.set(NAMED_FILES, new Map(filesByText))
    const size = slots.get(EXPANDED_REQUEST)?.size ?? (await request.bytes()).length
    // The bytes bound the tokens of the prompt, like those of media inside the request.
    const longer = expandedBody !== undefined
    slots.set(EXPANDED_REQUEST, { body, size: size + bytes, longer })
  }
}

/** The container of a code tool is the upstream's, which has none of our files. */
const refuseInContainers = ({ tools }: Fields, base: string): void => {
  if (!Array.isArray(tools)) return
  for (const [index, tool] of tools.entries()) {
    const place = `tools[${index}].container.file_ids`
    if (isFields(tool) && isFields(tool.container) && namesFile(tool.container, base))
      throw fault('FILE_NOT_HERE', [place], { param: place })
  }
}
