/** One connection to an upstream: sends one request at a time and reads its answer. */
import type { Socket } from 'node:net'
import { asBuffer } from '../kit.ts'
import type { Bytes } from '../plugin.ts'
import { ONE_WRITE } from '../request/bytes.ts'
import { type Request, type RequestHead, Unsendable } from './request-head.ts'
import { AnswerParser, type Parts } from './response-parser.ts'

/** Who sends a request, and is told of its answer. */
export interface Asker extends Parts {
  /** Whether nobody wants the answer any more. */
  readonly over: boolean
  /** From here on bytes may have left. */
  begun(connection: Connection): void
  /** There is no answer, or no more of it. Last, in the place of `end`. */
  broke(error: Error): void
}
/** Told of a connection that has answered (and may be used again), and of one that is gone. */
export interface Keeper {
  freed(connection: Connection): void
  gone(connection: Connection): void
}

export class Connection {
  /** By performance.now(): an idle connection is not used after it. */
  idleUntil = 0
  readonly #keeper: Keeper
  readonly #parser = new AnswerParser()
  #socket: Socket | undefined
  #asker: Asker | undefined
  /** A streamed body is still on its way up. */
  #sending = false
  #paused = false
  #gone = false

  constructor(keeper: Keeper) {
    this.#keeper = keeper
  }
  /** What the upstream says of how long it keeps an idle connection, ms. */
  get keeps(): number | undefined {
    return this.#parser.keeps
  }
  get paused(): boolean {
    return this.#paused
  }
  /** The socket stands. */
  opened(socket: Socket): void {
    this.#socket = socket
    socket.on('error', error => this.#leave(error))
    socket.on('end', () => this.#ended())
    socket.on('close', () => this.#leave(new Error('the connection was closed')))
  }
  /** `head`: of writeHead. */
  send({ text: head, length }: RequestHead, { method, body }: Request, asker: Asker): void {
    const socket = this.#socket as Socket
    this.#asker = asker
    this.#parser.expect(method, asker)
    asker.begun(this)
    if (body === undefined) socket.write(head, 'latin1')
    else if (!(body instanceof Uint8Array)) void this.#stream(head, body, length)
    else if (body.length <= ONE_WRITE)
      socket.write(head + asBuffer(body).toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body)
      socket.uncork()
    }
  }
  /** One read of the socket. Returns whether it goes on reading. */
  read(buffer: Buffer, length: number): boolean {
    try {
      this.#parser.read(buffer, length)
    } catch (thrown) {
      this.#leave(thrown as Error)
      return false
    }
    if (this.#parser.done && this.#asker) this.#answered()
    return !this.#paused
  }
  pause(): void {
    this.#paused = true
    this.#socket?.pause()
  }
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#socket?.resume()
  }
  /** Ends the connection, whatever it was doing. Its asker hears nothing more. */
  abort(): void {
    this.#asker = undefined
    this.#leave(undefined)
  }
  #answered(): void {
    this.#asker = undefined
    // A body that is still being sent cannot be taken back from the wire.
    const sending = this.#sending || (this.#socket?.writableLength ?? 0) > 0
    if (sending || !this.#parser.reusable) return this.#leave(undefined)
    this.resume()
    this.#keeper.freed(this)
  }
  #ended(): void {
    try {
      if (!this.#parser.close()) this.#leave(new Error('the upstream closed the connection'))
      else if (this.#asker) this.#answered()
      else this.#leave(undefined)
    } catch (thrown) {
      this.#leave(thrown as Error)
    }
  }
  #leave(error: Error | undefined): void {
    if (this.#gone) return
    this.#gone = true
    this.#socket?.destroy()
    const asker = this.#parser.done ? undefined : this.#asker
    this.#asker = undefined
    this.#parser.forget()
    this.#keeper.gone(this)
    if (error) asker?.broke(error)
  }
  async #stream(head: string, body: AsyncIterable<Bytes>, length: number): Promise<void> {
    const socket = this.#socket as Socket
    const chunked = length < 0
    let left = length
    this.#sending = true
    socket.write(head, 'latin1')
    try {
      for await (const chunk of body) {
        if (socket.destroyed) return
        if (!(chunk instanceof Uint8Array)) throw new Unsendable('its body is not made of bytes')
        if (chunk.length === 0) continue
        left -= chunk.length
        if (!chunked && left < 0) throw new Unsendable('its body is longer than its length')
        if (!writeChunk(socket, chunk, chunked)) await drained(socket)
      }
      if (!chunked && left > 0) throw new Unsendable('its body is shorter than its length')
      if (chunked) socket.write('0\r\n\r\n', 'latin1')
      this.#sending = false
    } catch (thrown) {
      this.#leave(thrown as Error)
    }
  }
}

const writeChunk = (socket: Socket, chunk: Bytes, chunked: boolean): boolean => {
  if (!chunked) return socket.write(chunk)
  socket.cork()
  socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
  socket.write(chunk)
  const more = socket.write('\r\n', 'latin1')
  socket.uncork()
  return more
}
/** Until the socket takes more, or is gone. */
const drained = (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    if (socket.destroyed) return resolve()
    const done = (): void => {
      socket.removeListener('drain', done)
      socket.removeListener('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
