/** The similarity from which on a client takes the answer to another text. Pure. */
import { errors } from '../../engine/errors.ts'

const fault = errors({
  CACHE_THRESHOLD: [
    400,
    'The header `x-tollgate-cache-threshold` must be a number from 0 to 1, such as 0.98.',
  ],
})

export const THRESHOLD_HEADER = 'x-tollgate-cache-threshold'
const FRACTION = /^(?:0?\.\d{1,9}|0|1(?:\.0{1,9})?)$/

/** A client can only raise that of the configuration. Undefined: it takes answers to equal requests
 *  only. Throws CACHE_THRESHOLD. */
export const thresholdOf = (header: string | undefined, configured: number): number | undefined => {
  if (header !== undefined && !FRACTION.test(header.trim())) throw fault('CACHE_THRESHOLD')
  const threshold = Math.max(configured, Number(header ?? 0))
  return threshold < 1 ? threshold : undefined
}
