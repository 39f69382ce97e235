/** One connection to an upstream: sends one request at a time and reads its response. */
import type { Socket } from 'node:net'
import { asBuffer } from '../kit.ts'
import type { Bytes } from '../plugin.ts'
import { ONE_WRITE } from '../request/bytes.ts'
import { type Request, type RequestHead, UnsendableRequest } from './request-head.ts'
import { ResponseParser, type ResponseParts } from './response-parser.ts'

/** Receives the response to a request. */
export interface ResponseHandler extends ResponseParts {
  /** Whether the request was abandoned. */
  readonly over: boolean
  /** From here on bytes may have been sent. */
  onStart(connection: ResponseConnection): void
  /** There is no response, or no more of it: called last, instead of `onEnd`. */
  onError(error: Error): void
}
/** The connection of one request, as its handler uses it. */
export interface ResponseConnection {
  readonly paused: boolean
  /** Whether the request was not written whole: the upstream cannot have all of it. */
  readonly isRequestCut?: boolean
  pause(): void
  resume(): void
  /** Ends the request. Its handler is not called any more. */
  abort(): void
}
/** Called when a connection can be used again, and when it is closed. */
export interface ConnectionOwner {
  onReleased(connection: Connection): void
  /** Bytes came that no request asked for; the connection is closed next. */
  onStrayBytes(): void
  onClosed(connection: Connection): void
}

export class Connection implements ResponseConnection {
  /** An idle connection is not used after this time (ms, monotonic). */
  idleUntil = 0
  readonly #owner: ConnectionOwner
  readonly #parser = new ResponseParser()
  #socket: Socket | undefined
  #handler: ResponseHandler | undefined
  /** A streamed body, or one of many bytes, is still being sent. */
  #sending = false
  paused = false
  #closed = false

  constructor(owner: ConnectionOwner) {
    this.#owner = owner
  }
  /** How long the upstream says that it keeps an idle connection, ms. */
  get keepAliveMs(): number | undefined {
    return this.#parser.keepAliveMs
  }
  get isRequestCut(): boolean {
    return this.#sending
  }
  attach(socket: Socket): void {
    // Bytes may have closed the connection before its socket was handed over.
    if (this.#closed) return void socket.on('error', () => {}).destroy()
    this.#socket = socket
    socket.on('error', error => this.#close(error))
    socket.on('end', () => this.#onSocketEnd())
    socket.on('close', () => this.#close(new Error('the connection was closed')))
  }
  send({ text, length }: RequestHead, { method, body }: Request, handler: ResponseHandler): void {
    const socket = this.#socket as Socket
    this.#handler = handler
    this.#parser.expect(method, handler)
    handler.onStart(this)
    if (body === undefined) socket.write(text, 'latin1')
    else if (!(body instanceof Uint8Array)) void this.#streamBody(text, body, length)
    else if (body.length <= ONE_WRITE)
      socket.write(text + asBuffer(body).toString('latin1'), 'latin1')
    else {
      socket.cork()
      this.#sending = true
      socket.write(Buffer.from(text, 'latin1'))
      socket.write(body, error => {
        if (!error) this.#sending = false
      })
      socket.uncork()
    }
  }
  /** Handles one read of the socket. Returns whether to continue reading. */
  read(buffer: Buffer, length: number): boolean {
    try {
      this.#parser.read(buffer, length)
    } catch (error) {
      if (this.#parser.isDone) this.#owner.onStrayBytes()
      this.#close(error as Error)
      return false
    }
    if (this.#parser.isDone && this.#handler) this.#onResponseEnd()
    return !this.paused
  }
  pause(): void {
    this.paused = true
    this.#socket?.pause()
  }
  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.#socket?.resume()
  }
  /** Closes the connection at any time. Its handler is not called any more. */
  abort(): void {
    this.#handler = undefined
    this.#close(undefined)
  }
  #onResponseEnd(): void {
    this.#handler = undefined
    // A body that is still being sent cannot be stopped without closing the connection.
    const sending = this.#sending || (this.#socket?.writableLength ?? 0) > 0
    if (sending || !this.#parser.isReusable) return this.#close(undefined)
    this.resume()
    this.#owner.onReleased(this)
  }
  #onSocketEnd(): void {
    try {
      if (!this.#parser.close()) this.#close(new Error('the upstream closed the connection'))
      else if (this.#handler) this.#onResponseEnd()
      else this.#close(undefined)
    } catch (error) {
      this.#close(error as Error)
    }
  }
  #close(error: Error | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#socket?.destroy()
    const handler = this.#parser.isDone ? undefined : this.#handler
    this.#handler = undefined
    this.#parser.forget()
    this.#owner.onClosed(this)
    if (error) handler?.onError(error)
  }
  async #streamBody(head: string, body: AsyncIterable<Bytes>, length: number): Promise<void> {
    const socket = this.#socket as Socket
    const chunked = length < 0
    let rest = length
    this.#sending = true
    socket.write(head, 'latin1')
    try {
      for await (const chunk of body) {
        if (socket.destroyed) return
        if (!(chunk instanceof Uint8Array))
          throw new UnsendableRequest('its body is not made of bytes')
        if (chunk.length === 0) continue
        rest -= chunk.length
        if (!chunked && rest < 0) throw new UnsendableRequest('its body is longer than its length')
        if (!writeChunk(socket, chunk, chunked)) await drainOrClose(socket)
      }
      if (!chunked && rest > 0) throw new UnsendableRequest('its body is shorter than its length')
      if (chunked) socket.write('0\r\n\r\n', 'latin1')
      this.#sending = false
    } catch (error) {
      this.#close(error as Error)
    }
  }
}

const writeChunk = (socket: Socket, chunk: Bytes, chunked: boolean): boolean => {
  if (!chunked) return socket.write(chunk)
  socket.cork()
  socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
  socket.write(chunk)
  const canWrite = socket.write('\r\n', 'latin1')
  socket.uncork()
  return canWrite
}
/** Resolves when the socket takes more, or is closed. */
const drainOrClose = (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    if (socket.destroyed) return resolve()
    const onReady = (): void => {
      socket.removeListener('drain', onReady)
      socket.removeListener('close', onReady)
      resolve()
    }
    socket.on('drain', onReady)
    socket.on('close', onReady)
  })
