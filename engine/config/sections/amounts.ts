/** Times and sizes of the engine's options. */
import { DURATION_PATTERN, parseDuration, parseSize, SIZE_PATTERN } from '../compile/units.ts'
import { type Notes, ofTypes, reading, text } from '../shape.ts'

/** Reads ms, at most what a timer can wait. */
export const time = <const N extends Notes>(description: string, notes: N) =>
  reading(text(description, { pattern: DURATION_PATTERN, ...notes }), parseDuration)
/** Reads bytes. A number is bytes as well. */
export const bytes = <const N extends Notes>(description: string, notes: N) =>
  reading(
    ofTypes(description, ['string', 'integer'], { pattern: SIZE_PATTERN, minimum: 0, ...notes }),
    parseSize,
  )
