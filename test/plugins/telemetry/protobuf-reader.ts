/** Reads Protobuf without a schema: the fields of a message by their numbers. */

export interface Message {
  /** Of a field: numbers, 64 bits that were written as such, or bytes. */
  readonly [field: number]: readonly (number | bigint | Buffer)[]
}

const [VARINT, FIXED64, LENGTH] = [0, 1, 2]

/** Throws if the bytes are not a message. */
export const readMessage = (bytes: Uint8Array): Message => {
  const buffer = Buffer.from(bytes)
  const fields: Record<number, (number | bigint | Buffer)[]> = {}
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
  }
  const take = (length: number): Buffer => {
    if (at + length > buffer.length) throw new Error('a field is longer than its message')
    at += length
    return buffer.subarray(at - length, at)
  }
  const read = (type: number): number | bigint | Buffer => {
    if (type === VARINT) return Number(varint())
    if (type === FIXED64) return take(8).readBigUInt64LE()
    if (type === LENGTH) return take(Number(varint()))
    throw new Error(`a field of type ${type}`)
  }
  while (at < buffer.length) {
    const tag = Number(varint())
    const values = fields[tag >> 3] ?? []
    values.push(read(tag & 7))
    fields[tag >> 3] = values
  }
  return fields
}
export const messagesIn = (message: Message, field: number): readonly Message[] =>
  (message[field] ?? []).map(each => readMessage(each as Buffer))
export const messageIn = (message: Message, ...path: readonly number[]): Message =>
  path.reduce<Message>((inner, field) => messagesIn(inner, field)[0] ?? {}, message)
export const textIn = (message: Message, field: number): string | undefined =>
  message[field]?.[0]?.toString()
export const doubleOf = (bits: unknown): number => {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(bits as bigint)
  return buffer.readDoubleLE()
}

/** A value of an attribute, as JavaScript has it. */
const valueIn = (value: Message): unknown => {
  if (value[1]) return textIn(value, 1)
  if (value[2]) return value[2][0] === 1
  if (value[3]) return value[3][0]
  if (value[4]) return doubleOf(value[4][0])
  return messagesIn(messageIn(value, 5), 1).map(valueIn)
}
export const attributesIn = (message: Message, field: number): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    messagesIn(message, field).map(each => [textIn(each, 1), valueIn(messageIn(each, 2))]),
  )
