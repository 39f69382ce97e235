/** Which members of a request order the seconds of a clip. */

/** How requests of a route order the seconds of a clip. */
export interface SecondsOrder {
  /** The members that may name them: the longest counts. */
  readonly members: readonly string[]
  /** Whether the target gets these members. If not, it may make more than they say. */
  readonly areSent: boolean
  /** Whether the target makes a clip of the segments in `image_settings`. */
  readonly hasSegments: boolean
}
export const SECONDS_MEMBERS: readonly string[] = ['duration', 'seconds']
export const USUAL_ORDER: SecondsOrder = {
  members: SECONDS_MEMBERS,
  areSent: true,
  hasSegments: false,
}
