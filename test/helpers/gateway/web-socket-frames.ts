/** Frames of a WebSocket, valid ones and others, as the bytes that a test writes itself. */
import { createHash } from 'node:crypto'

interface FrameOptions {
  /** Default: a final frame of text. FIN 0x80, reserved bits 0x70, opcode 0x0f. */
  readonly first?: number
  /** The length of the payload that the frame declares. */
  readonly length?: number | bigint
  /** A server's frames are unmasked. */
  readonly isMasked?: boolean
}
const TEXT = 0x81
const CLOSE = 0x88
export const PING = 0x89

export const frame = (payload: string | Buffer = '', options: FrameOptions = {}): Buffer => {
  const { first = TEXT, isMasked = true } = options
  const bytes = Buffer.from(payload)
  const length = BigInt(options.length ?? bytes.length)
  const maskBit = isMasked ? 0x80 : 0
  const head = Buffer.alloc(length < 126n ? 2 : length < 65_536n ? 4 : 10)
  head[0] = first
  head[1] = maskBit | (head.length === 2 ? Number(length) : head.length === 4 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(Number(length), 2)
  if (head.length === 10) head.writeBigUInt64BE(length, 2)
  if (!isMasked) return Buffer.concat([head, bytes])
  const mask = Buffer.from('abcd')
  return Buffer.concat([head, mask, bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0))])
}
export const closeFrame = (code: number, options: FrameOptions = {}): Buffer =>
  frame(Buffer.from([code >> 8, code & 0xff]), { first: CLOSE, ...options })

/** The frames of a server in what was received behind the head of its response. */
const serverFrames = (
  received: Buffer,
): readonly { readonly first: number; readonly payload: Buffer }[] => {
  const frames = []
  let at = received.indexOf('\r\n\r\n') + 4
  while (at + 2 <= received.length) {
    const [first = 0, short = 0] = received.subarray(at)
    const size = short === 126 ? 4 : short === 127 ? 10 : 2
    if (at + size > received.length) break
    const length =
      size === 4
        ? received.readUInt16BE(at + 2)
        : size === 10
          ? Number(received.readBigUInt64BE(at + 2))
          : short
    frames.push({ first, payload: received.subarray(at + size, at + size + length) })
    at += size + length
  }
  return frames
}
/** The code with which a server closed; undefined if it did not. */
export const closeCodeOf = (received: Buffer): number | undefined => {
  const close = serverFrames(received).find(({ first }) => first === CLOSE)
  return close && close.payload.length >= 2 ? close.payload.readUInt16BE(0) : undefined
}

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
/** The request that opens a WebSocket. */
export const handshake = (path: string, headers: readonly string[] = []): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: gateway.test',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    ...headers,
    '\r\n',
  ].join('\r\n')

/** The response of an upstream that accepts the request with this head (RFC 6455 §4.2.2). */
export const acceptance = (head: string): string => {
  const [, key = ''] = /^sec-websocket-key: *(\S+)/im.exec(head) ?? []
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept.digest('base64')}\r\n\r\n`
}
