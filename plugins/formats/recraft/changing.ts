/** Changes of an image, in forms: of all of it, or of what a mask shows. */
import type { Loss, Sent } from '../codec.ts'
import type { Media } from '../content.ts'
import { fileName, fileOf } from '../drawing.ts'
import { fault } from '../faults.ts'
import type { Fields } from '../fields.ts'
import { writeForm } from '../multipart.ts'
import { whitened } from './mask.ts'

/** How far from the image its own programs go, where nobody says: 0 to 1. */
const STRENGTH = 0.5
/** An image keeps its size. */
const LOST = ['size']
/** What is kept of it is not redrawn. */
const LOST_BY_MASK = ['strength', 'controls']

/** `members`: without those that say how many. */
export const changing = (
  image: Media,
  mask: Media | undefined,
  members: Fields,
  loss: Loss,
): ((n: number) => Sent) => {
  const { bytes, type } = fileOf(image)
  const files = [{ name: 'image', file: fileName('image', type), type, bytes }]
  if (mask) files.push(fileOfMask(mask))
  const lost = new Set(mask ? [...LOST, ...LOST_BY_MASK] : LOST)
  const kept: [string, string][] = mask ? [] : [['strength', String(STRENGTH)]]
  for (const [name, value] of Object.entries(members))
    if (lost.has(name)) loss.drop(name)
    else kept.push([name, typeof value === 'string' ? value : JSON.stringify(value)])
  const path = mask ? '/v1/images/inpaint' : '/v1/images/imageToImage'
  return n => {
    const fields = new Map([...kept, ['n', String(n)]])
    const form = writeForm([...fields], files)
    return { path, body: form.body, headers: { 'content-type': form.type } }
  }
}
const fileOfMask = (mask: Media) => {
  const bytes = whitened(fileOf(mask).bytes)
  const { at = 'mask' } = mask
  if (!bytes)
    throw fault('MEMBER_VALUE', [at, 'it is no PNG of up to 4 megapixels with transparent parts'], {
      param: at,
    })
  return { name: 'mask', file: 'mask.png', type: 'image/png', bytes }
}
