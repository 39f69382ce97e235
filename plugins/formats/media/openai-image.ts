/** The images that OpenAI's formats take. */
import { fault } from '../faults.ts'
import type { Media } from '../hub/content.ts'

/** platform.openai.com/docs/guides/images. Their other names are mapped before. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])

export const isWebUrl = (url: string): boolean => /^https?:/i.test(url)

/** Throws a fault for an image that the provider neither reads nor fetches. `root`: the client's
 *  place of media without one. */
export const checkOpenaiImage = (media: Media, root: string): void => {
  const { source } = media
  const isRead = source.type === 'data' ? IMAGES.has(source.mime) : source.type !== 'url'
  if (!isRead && !(source.type === 'url' && isWebUrl(source.url)))
    throw unsupportedMedia(media, root)
}
export const unsupportedMedia = ({ at, kind, source }: Media, root: string) => {
  const param = at ?? root
  const how =
    source.type === 'data'
      ? source.mime
      : source.type === 'url' && !isWebUrl(source.url)
        ? `a ${kind} whose URL begins with ${source.url.split(':')[0]}:`
        : `a ${kind} by its ${source.type}`
  return fault('CONTENT_UNSUPPORTED', [param, how], { param })
}
