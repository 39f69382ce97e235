/** How pieces of bytes are joined before they are written. */
/** Bytes up to which a copy as one-byte text, in one write with the head, costs less than a second buffer. */
export const ONE_WRITE = 64 * 1024

/** Makes one of the pieces from this place on. Returns the place behind it. */
export const joinLast = (parts: Buffer[], from: number): number => {
  parts.push(Buffer.concat(parts.splice(from)))
  return from + 1
}
