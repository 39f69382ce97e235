/** Ids in paths. */
import { errors } from '../../engine/errors.ts'

const fault = errors({
  ID_RANGE: [400, "'%s' cannot be an id: the number exceeds 64 bits."],
})
const LARGEST = 2n ** 63n - 1n
const DIGITS = 19

/** Returns the text. Throws ID_RANGE for a number that no id can be. */
export const checkPathId = (text: string): string => {
  const isNumber = /^\d{19,}$/.test(text)
  if (isNumber && (text.length > DIGITS || BigInt(text) > LARGEST))
    throw fault('ID_RANGE', [text.slice(0, 40)])
  return text
}
