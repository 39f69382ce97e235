/** The media of a request as far as the rules of a target concern them, without decoding it. */
import type { Json } from '../../../engine/plugin.ts'
import type { Media } from '../hub/content.ts'

export interface MediaPlace {
  readonly kind: Media['kind']
  /** Whether the request names its address, not its data. */
  readonly isUrl: boolean
  /** Whether it is in a message of the user itself, not in the result of a tool. */
  readonly isOfUser: boolean
}
export interface MediaRules {
  /** Kinds of media that the gateway downloads, to send the target their data instead of URLs. */
  readonly fetched: readonly string[]
  readonly traits: { readonly [trait: string]: Json }
}

export const hasMediaRules = ({ fetched, traits }: MediaRules): boolean =>
  fetched.length > 0 || Array.isArray(traits.media) || traits.tool_media === false

/** Whether a request in the target's own format must be written again: its media are of a kind that
 *  the target does not take, by URL where it takes data only, or where it takes none. */
export const needsMediaFit = (
  places: readonly MediaPlace[],
  { fetched, traits: { media: kinds, tool_media: isInResults } }: MediaRules,
): boolean =>
  places.some(
    ({ kind, isUrl, isOfUser }) =>
      (Array.isArray(kinds) && !kinds.includes(kind)) ||
      (isUrl && fetched.includes(kind)) ||
      (isInResults === false && !isOfUser),
  )
