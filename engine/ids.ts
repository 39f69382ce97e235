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
