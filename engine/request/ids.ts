/** Random hexadecimal ids, cut from a pool: a call to the generator each would cost more. */
import { randomFillSync } from 'node:crypto'

const POOL = 8_192
/** Bytes whose digits are written at once. An id keeps the whole piece it is cut from in memory. */
const PIECE = 256

export const createIds = (): ((bytes: number) => string) => {
  const pool = Buffer.alloc(POOL)
  let at = POOL
  let digits = ''
  let digitsUsed = 0
  const refill = (): void => {
    if (at + PIECE > POOL) {
      randomFillSync(pool)
      at = 0
    }
    digits = pool.toString('hex', at, at + PIECE)
    at += PIECE
    digitsUsed = 0
  }
  return bytes => {
    if (digitsUsed + bytes * 2 > digits.length) refill()
    const start = digitsUsed
    digitsUsed += bytes * 2
    return digits.slice(start, digitsUsed)
  }
}

/** Hexadecimal digits of a time in ms. */
const INSTANT = 12

/** 32 digits that grow with time: a store writes rows with such ids beside their neighbours (RFC
 *  9562 §6.13 does so for the same reason). */
export const createTimedIds = (now: () => number = Date.now): (() => string) => {
  const ids = createIds()
  let last = -1
  let instant = ''
  return () => {
    const at = now()
    if (at !== last) {
      last = at
      instant = at.toString(16).padStart(INSTANT, '0')
    }
    return instant + ids(10)
  }
}
