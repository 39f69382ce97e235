/** Random hexadecimal names, cut from a pool: a call to the generator per request would cost more than the rest. */
import { randomFillSync } from 'node:crypto'

const POOL = 8_192

export const createIds = (): ((bytes: number) => string) => {
  const pool = Buffer.alloc(POOL)
  let at = POOL
  return bytes => {
    if (at + bytes > POOL) {
      randomFillSync(pool)
      at = 0
    }
    const start = at
    at += bytes
    return pool.toString('hex', start, at)
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
