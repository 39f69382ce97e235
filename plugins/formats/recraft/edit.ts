/** Encodes image edits as forms: of the whole image, or of the area that a mask selects. */
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import type { DroppedFields, UpstreamRequest } from '../hub/codec.ts'
import type { Media } from '../hub/content.ts'
import { fileName, imageFileOf } from '../images/image-prompt.ts'
import { writeForm } from '../media/multipart.ts'
import { convertMask } from './mask.ts'

/** Default strength of a change (0 to 1), as Recraft's own programs use. */
const DEFAULT_STRENGTH = 0.5
/** Not accepted: an edited image keeps its size. */
const UNSUPPORTED_FIELDS = ['size']
/** Not accepted with a mask: the area outside the mask stays unchanged. */
const UNSUPPORTED_WITH_MASK = ['strength', 'controls']

/** `members`: the fields without the number of images. */
export const editRequest = (
  image: Media,
  mask: Media | undefined,
  members: Fields,
  dropped: DroppedFields,
): ((n: number) => UpstreamRequest) => {
  const { bytes, type } = imageFileOf(image)
  const files = [{ name: 'image', file: fileName('image', type), type, bytes }]
  if (mask) files.push(maskFile(mask))
  const unsupportedFields = new Set(
    mask ? [...UNSUPPORTED_FIELDS, ...UNSUPPORTED_WITH_MASK] : UNSUPPORTED_FIELDS,
  )
  const fields: [string, string][] = mask ? [] : [['strength', String(DEFAULT_STRENGTH)]]
  for (const [name, value] of Object.entries(members))
    if (unsupportedFields.has(name)) dropped.add(name)
    else fields.push([name, typeof value === 'string' ? value : JSON.stringify(value)])
  const path = mask ? '/v1/images/inpaint' : '/v1/images/imageToImage'
  return n => {
    const formFields = new Map([...fields, ['n', String(n)]])
    const form = writeForm([...formFields], files)
    return { path, body: form.body, headers: { 'content-type': form.type } }
  }
}
const maskFile = (mask: Media) => {
  const bytes = convertMask(imageFileOf(mask).bytes)
  const { at = 'mask' } = mask
  if (!bytes)
    throw fault(
      'MEMBER_VALUE',
      [at, 'expected a PNG of at most 4 megapixels with transparent pixels'],
      {
        param: at,
      },
    )
  return { name: 'mask', file: 'mask.png', type: 'image/png', bytes }
}
