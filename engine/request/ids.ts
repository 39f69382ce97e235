/** Random hexadecimal names, cut from a pool: a call to the generator per request would cost more than the rest. */
import { randomFillSync } from 'node:crypto'

const POOL = 8_192
/** Bytes whose digits are written at once. A name keeps the digits it is cut from in memory as long as it is kept. */
const PIECE = 256

export const createIds = (): ((bytes: number) => string) => {
  const pool = Buffer.alloc(POOL)
  let at = POOL
  let digits = ''
  let cut = 0
  const refill = (): void => {
    if (at + PIECE > POOL) {
      randomFillSync(pool)
      at = 0
    }
    digits = pool.toString('hex', at, at + PIECE)
    at += PIECE
    cut = 0
  }
  return bytes => {
    if (cut + bytes * 2 > digits.length) refill()
    const start = cut
    cut += bytes * 2
    return digits.slice(start, cut)
  }
}

/** ms, in hexadecimal digits. */
const INSTANT = 12

/** 32 digits that grow with time: what is kept by them is kept in the order in which it came, where a store writes it
 *  beside its neighbours (RFC 9562 §6.13 does it for the same reason). */
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
