/** Writes messages of Protobuf into one buffer that grows. */
const VARINT = 0
const FIXED64 = 1
const LENGTH = 2

const FIRST_SIZE = 16 * 1024
/** Bytes of a tag and a number of 64 bits, at most. */
const NUMBER_BYTES = 15

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(FIRST_SIZE)
  #end = 0
  /** The bytes so far. Valid until the next write. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#end)
  }
  clear(): void {
    this.#end = 0
  }
  /** Fields that another writer has written. */
  message(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#end)
    this.#end += bytes.length
  }
  /** A whole number of 64 bits. */
  integer(field: number, value: number): void {
    this.#tag(field, VARINT)
    if (value >= 0) return this.#varint(value)
    // Negative numbers are those of two's complement.
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#end++] = Number(rest & 0x7fn) | 0x80
    this.#bytes[this.#end++] = Number(rest)
  }
  double(field: number, value: number): void {
    this.#tag(field, FIXED64)
    this.#end = this.#bytes.writeDoubleLE(value, this.#end)
  }
  fixed64(field: number, value: bigint): void {
    this.#tag(field, FIXED64)
    this.#end = this.#bytes.writeBigUInt64LE(value, this.#end)
  }
  text(field: number, text: string): void {
    this.#block(field, text, 'utf8', Buffer.byteLength(text))
  }
  /** A field of bytes, given as hexadecimal digits. */
  hex(field: number, digits: string): void {
    this.#block(field, digits, 'hex', digits.length / 2)
  }
  doubles(field: number, values: readonly number[]): void {
    const start = this.begin(field)
    this.#reserve(values.length * 8)
    for (const value of values) this.#end = this.#bytes.writeDoubleLE(value, this.#end)
    this.finish(start)
  }
  fixed64s(field: number, values: readonly number[]): void {
    const start = this.begin(field)
    this.#reserve(values.length * 8)
    for (const value of values) this.#end = this.#bytes.writeBigUInt64LE(BigInt(value), this.#end)
    this.finish(start)
  }
  /** Begins a message inside of this one. Its fields follow, then `finish` with the result. */
  begin(field: number): number {
    this.#tag(field, LENGTH)
    // One byte for its length, which most messages need no more than.
    return ++this.#end
  }
  /** Begins a message whose length is known: what is written next is in it. */
  head(field: number, length: number): void {
    this.#tag(field, LENGTH)
    this.#varint(length)
  }
  finish(start: number): void {
    const length = this.#end - start
    const more = bytesOfVarint(length) - 1
    this.#reserve(more)
    if (more > 0) this.#bytes.copyWithin(start + more, start, this.#end)
    this.#end = start - 1
    this.#varint(length)
    this.#end += length
  }
  #block(field: number, text: string, encoding: 'utf8' | 'hex', length: number): void {
    this.head(field, length)
    this.#reserve(length)
    this.#end += this.#bytes.write(text, this.#end, encoding)
  }
  #tag(field: number, type: number): void {
    this.#reserve(NUMBER_BYTES)
    this.#varint(field * 8 + type)
  }
  /** Needs ten reserved bytes. */
  #varint(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80))
      this.#bytes[this.#end++] = (rest % 0x80) + 0x80
    this.#bytes[this.#end++] = rest
  }
  #reserve(count: number): void {
    if (this.#end + count <= this.#bytes.length) return
    const bytes = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#end + count))
    this.#bytes.copy(bytes, 0, 0, this.#end)
    this.#bytes = bytes
  }
}

const bytesOfVarint = (value: number): number => {
  let count = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) count++
  return count
}
