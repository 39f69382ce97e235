/** The images of requests of /ent/v2: in `images`, and in the `images` of each subject. Pure. */
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

export const viduImages: ImagePlaces<Fields> = {
  map(body, replace) {
    const mapped = mapImages(body, 'images', replace)
    const { subjects } = mapped
    if (!Array.isArray(subjects)) return mapped
    const mappedSubjects = (subjects as readonly Fields[]).map((subject, index) =>
      mapImages(subject, `subjects[${index}].images`, replace),
    )
    return { ...mapped, subjects: mappedSubjects }
  },
  limit: MAX_REQUEST,
}
