/** The images of requests of /ent/v2: in `images`, in those of each subject, and the frames of a
 *  clip through several images. Pure. */
import type { Json } from '../../../engine/plugin.ts'
import type { ImagePlaces } from '../../file-store/image-places.ts'
import type { Fields } from '../task.ts'

/** Bytes of the largest request that the upstream takes. */
const MAX_REQUEST = 20 * 2 ** 20

type Replace = Parameters<ImagePlaces<Fields>['map']>[1]

const mapImages = (fields: Fields, at: string, replace: Replace): Fields => {
  const { images } = fields
  if (!Array.isArray(images)) return fields
  const mapImage = (image: Json, index: number): Json =>
    typeof image === 'string' ? replace(image, `${at}[${index}]`) : image
  return { ...fields, images: images.map(mapImage) }
}

/** A member that is one image. */
const mapImage = (fields: Fields, name: string, at: string, replace: Replace): Fields =>
  typeof fields[name] === 'string' ? { ...fields, [name]: replace(fields[name], at) } : fields
const mapFrames = (fields: Fields, replace: Replace): Fields => {
  const mapped = mapImage(fields, 'start_image', 'start_image', replace)
  const { image_settings: segments } = mapped
  if (!Array.isArray(segments)) return mapped
  const mappedSegments = (segments as readonly Fields[]).map((segment, index) =>
    mapImage(segment, 'key_image', `image_settings[${index}].key_image`, replace),
  )
  return { ...mapped, image_settings: mappedSegments }
}

export const viduImages: ImagePlaces<Fields> = {
  map(body, replace) {
    const mapped = mapFrames(mapImages(body, 'images', replace), replace)
    const { subjects } = mapped
    if (!Array.isArray(subjects)) return mapped
    const mappedSubjects = (subjects as readonly Fields[]).map((subject, index) =>
      mapImages(subject, `subjects[${index}].images`, replace),
    )
    return { ...mapped, subjects: mappedSubjects }
  },
  limit: MAX_REQUEST,
}
