/** The stored files that a request names, wherever its format has media. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { DroppedFieldReport } from '../conversion/dropped-fields.ts'
import { routeFormat } from '../conversion/route-format.ts'
import type { Fields } from '../formats/fields.ts'
import type { Codec } from '../formats/hub/codec.ts'
import type { Media } from '../formats/hub/content.ts'
import { mediaIn, referenceIn } from '../formats/hub/prompt-media.ts'
import { ACCOUNT } from '../slots.ts'
import { fault } from './faults.ts'
import { fileIdIn, namesFile } from './file-ids.ts'
import { type FileReference, findNamedFiles } from './named-files.ts'

interface TextReference extends FileReference {
  /** The reference as the request has it. */
  readonly text: string
}
interface FormatRequest {
  readonly body: Fields
  readonly path: string
  readonly codec: Codec
}

/** `base`: the gateway's own address. Decodes only bodies that name a file. */
export const referencesIn = (
  { body, path, codec }: FormatRequest,
  base: string,
): readonly TextReference[] => {
  if (!namesFile(body, base)) return []
  const prompt = codec.decodePrompt(body, path, new DroppedFieldReport(codec.settings))
  return mediaIn(prompt).flatMap(media => namedBy(media, base))
}
const namedBy = (media: Media, base: string): readonly TextReference[] => {
  const { source, kind, payload, at = 'messages' } = media
  const text = referenceIn(source)
  const id = text === undefined ? undefined : fileIdIn(text, base)
  if (text === undefined || id === undefined) return []
  // The payload goes to its provider unchanged, with the id in it.
  if (payload) throw fault('FILE_NOT_HERE', [at], { param: at })
  return [{ text, id, at, isImage: kind === 'image' }]
}

/** Refuses a request that names files which its caller does not see, or may not use there: for
 *  calls that are answered before they run. */
export const checkNamedFiles = async (
  host: Host,
  { slots, request }: Exchange,
  body: Fields,
): Promise<void> => {
  const codec = routeFormat(host)?.codec
  const references = codec ? referencesIn({ body, path: request.path, codec }, host.url('')) : []
  if (references.length > 0) await findNamedFiles(host, slots.get(ACCOUNT), references)
}
