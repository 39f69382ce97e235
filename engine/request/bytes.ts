/** Joins pieces of bytes before they are written. */

/** Up to this size a copy as text, in one write with the head, costs less than a buffer. */
export const ONE_WRITE = 64 * 1024

/** Joins the pieces from this index on into one. Returns the index behind it. */
export const joinFrom = (parts: Buffer[], from: number): number => {
  parts.push(Buffer.concat(parts.splice(from)))
  return from + 1
}
