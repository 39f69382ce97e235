/** Requests whose images may be ids of stored files: checked when they arrive, and with the data of
 *  the files when they are sent. */
import type { HostBase } from '../../engine/plugin.ts'
import type { Caller } from '../credentials/members.ts'
import { type FileReference, findNamedFiles } from './named-files.ts'

/** Nothing else that names an image begins so. */
const PREFIX = 'file-'

/** Where the requests of one API have images. */
export interface ImagePlaces<Body> {
  /** The request with other images. `at`: path of the image. */
  map(body: Body, replace: (image: string, at: string) => string): Body
  /** Bytes of all files of a request, encoded as base64. */
  readonly limit: number
}
/** A request and its caller. */
interface ImageRequest<Body> {
  readonly body: Body
  readonly caller: Caller
}

/** Throws like `findNamedFiles`. */
export const checkImages = async <Body>(
  host: HostBase,
  places: ImagePlaces<Body>,
  { body, caller }: ImageRequest<Body>,
): Promise<void> => {
  const references = referencesIn(body, places)
  if (references.length > 0) await findNamedFiles(host, caller, references, places.limit)
}

/** The request with data URLs for the ids of files. Throws like `findNamedFiles`. */
export const inlineImages = async <Body>(
  host: HostBase,
  places: ImagePlaces<Body>,
  { body, caller }: ImageRequest<Body>,
): Promise<Body> => {
  const references = referencesIn(body, places)
  if (references.length === 0) return body
  const { files } = await findNamedFiles(host, caller, references, places.limit)
  const urls = new Map<string, string>()
  for (const [id, { mime, base64 }] of files) urls.set(id, `data:${mime};base64,${await base64()}`)
  return places.map(body, image => urls.get(image) ?? image)
}

const referencesIn = <Body>(body: Body, places: ImagePlaces<Body>): readonly FileReference[] => {
  const references: FileReference[] = []
  places.map(body, (image, at) => {
    if (image.startsWith(PREFIX)) references.push({ id: image, at, isImage: true })
    return image
  })
  return references
}
