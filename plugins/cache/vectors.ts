/** Vectors of texts: 32-bit floats of length 1, their bytes in the store, and their similarity.
 *  Pure. */

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT

/** Undefined: the numbers have no direction. */
export const unitVectorOf = (numbers: readonly number[]): Float32Array | undefined => {
  const length = Math.sqrt(numbers.reduce((sum, each) => sum + each * each, 0))
  if (!Number.isFinite(length) || length === 0) return undefined
  return Float32Array.from(numbers, each => each / length)
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)
/** Undefined: the value is not a vector. */
export const vectorIn = (bytes: unknown): Float32Array | undefined => {
  if (!(bytes instanceof Uint8Array) || bytes.byteLength % FLOAT_BYTES !== 0) return undefined
  // Views of floats must be aligned.
  const { buffer, byteOffset, byteLength } =
    bytes.byteOffset % FLOAT_BYTES === 0 ? bytes : Uint8Array.from(bytes)
  return new Float32Array(buffer, byteOffset, byteLength / FLOAT_BYTES)
}

/** The cosine of two vectors of length 1, from -1 to 1. Vectors of other models are not similar. */
export const similarityOf = (one: Float32Array, other: Float32Array): number => {
  if (one.length !== other.length) return -1
  let sum = 0
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0)
  return sum
}
