/** Parses durations and sizes of the configuration: `5s` is 5000 ms, `32MiB` is 33554432 bytes. */
import { DURATIONS as ALL, amountIn, SIZES } from '../../kit.ts'

const { d: _, ...DURATIONS } = ALL
/** The longest time of a Node timer; with a longer one it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The grammar as JSON Schema patterns. */
export const DURATION_PATTERN = `^[0-9]{1,9}([.][0-9]{1,3})?(${Object.keys(DURATIONS).join('|')})$`
export const SIZE_PATTERN = `^[0-9]{1,15}([.][0-9]{1,3})?(${Object.keys(SIZES).join('|')})?$`

/** `250ms 5s 2m 1h 1.5s` to milliseconds, at most 24.8 days. Throws on anything else. */
export const parseDuration = (text: string): number =>
  Math.min(MAX_TIMER_MS, parse(text, DURATION_PATTERN, DURATIONS, 'duration such as 5s'))

/** `512 20KB 20KiB 32MiB 1GB` to bytes; a bare number is bytes. Throws on anything else. */
export const parseSize = (text: string | number): number =>
  parse(String(text), SIZE_PATTERN, SIZES, 'size such as 32MiB')

const parse = (
  text: string,
  pattern: string,
  units: Readonly<Record<string, number>>,
  description: string,
) => {
  if (!new RegExp(pattern).test(text)) throw new RangeError(`"${text}" is not a ${description}`)
  return amountIn(text, units)
}
