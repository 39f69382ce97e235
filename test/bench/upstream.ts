/** The upstream of the bench: minimal HTTP/1.1 over node:net, so that it costs little CPU. */
import net from 'node:net'
import { DONE, EVENTS, event, NAMES, PACE, plainAnswer, REFUSED, stampedEvent } from './answers.ts'
import { DIALOGUES, FORMATS, type FormatName, MODEL_NAMES } from './dialogue.ts'

/** Events of a long stream. */
const LONG = Number(process.argv[2] ?? 50_000)

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const head = (type: string, framing: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${framing}\r\n\r\n`
const whole = (text: string): Buffer =>
  Buffer.from(head('application/json', `content-length: ${Buffer.byteLength(text)}`) + text)

const PLAIN = whole(plainAnswer())
const REFUSAL = Buffer.from(
  whole(JSON.stringify({ error: { message: 'max_tokens is too large', type: 'invalid' } }))
    .toString()
    .replace('200 OK', '400 Bad Request'),
)
const STREAM_HEAD = Buffer.from(head('text/event-stream', 'transfer-encoding: chunked'))
const EVENT_CHUNKS = Array.from({ length: EVENTS - 1 }, (_, index) =>
  Buffer.from(chunk(event(index))),
)
const END = '0\r\n\r\n'
const LAST = Buffer.from(chunk(DONE) + END)

/** Responses of each format, made once: their creation is not measured. */
const responses = Object.fromEntries(
  FORMATS.map(format => {
    const { plain, opening, piece, closing } = DIALOGUES[format]
    const pieces = Array.from({ length: EVENTS }, (_, at) => Buffer.from(chunk(piece(at))))
    const begin =
      opening === '' ? STREAM_HEAD : Buffer.concat([STREAM_HEAD, Buffer.from(chunk(opening))])
    return [format, { plain: whole(JSON.stringify(plain())), begin, pieces, closing }]
  }),
)

const writeResponse = async (
  socket: net.Socket,
  format: FormatName,
  question: string,
): Promise<void> => {
  const response = responses[format]
  if (!response) return
  if (question.includes(MODEL_NAMES.plain)) return void socket.write(response.plain)
  const count = question.includes(MODEL_NAMES.long) ? LONG : EVENTS
  socket.write(response.begin)
  for (let at = 0; at < count && !socket.destroyed; at++) {
    const [first] = response.pieces
    if (first && !socket.write(response.pieces[at % response.pieces.length] ?? first))
      await drainOrClose(socket)
  }
  socket.write(chunk(response.closing(count)) + END)
}
/** Resolves when the socket takes more, or is closed. */
const drainOrClose = (socket: net.Socket): Promise<void> =>
  new Promise(resolve => {
    const onReady = (): void => {
      socket.off('drain', onReady).off('close', onReady)
      resolve()
    }
    socket.on('drain', onReady).on('close', onReady)
  })

interface PacedStream {
  readonly socket: net.Socket
  count: number
  /** When the next event is due, ms. */
  next: number
}
const pacedStreams = new Set<PacedStream>()
let ticker: NodeJS.Timeout | undefined

/** Streams begin at any phase and never drift: timers of their own would fire together, and an
 *  event would wait for those of all other streams. */
const writePaced = (socket: net.Socket): void => {
  pacedStreams.add({ socket, count: 0, next: performance.now() + Math.random() * PACE.interval })
  ticker ??= setInterval(writeDue, 1)
}
const writeDue = (): void => {
  const now = performance.now()
  for (const stream of pacedStreams) {
    if (stream.next > now) continue
    stream.next += PACE.interval
    const isLast = ++stream.count === PACE.events
    if (!stream.socket.destroyed) stream.socket.write(chunk(stampedEvent(stream.count)))
    if (isLast) stream.socket.write(LAST)
    if (isLast || stream.socket.destroyed) pacedStreams.delete(stream)
  }
  if (pacedStreams.size > 0) return
  clearInterval(ticker)
  ticker = undefined
}

const answer = (socket: net.Socket, question: string): void => {
  const line = question.slice(0, question.indexOf('\r\n'))
  if (/translate-/.test(question)) {
    const format = FORMATS.find(each => line.includes(DIALOGUES[each].mark))
    return void (format && writeResponse(socket, format, question))
  }
  if (question.includes(NAMES.plain)) return void socket.write(PLAIN)
  if (question.includes(REFUSED)) return void socket.write(REFUSAL)
  socket.write(STREAM_HEAD)
  if (question.includes(NAMES.paced)) return writePaced(socket)
  if (question.includes(NAMES.idle)) return void socket.write(EVENT_CHUNKS[0] ?? LAST)
  // One write per event, as a real upstream sends them.
  for (const each of EVENT_CHUNKS) socket.write(each)
  socket.write(LAST)
}

const NAME_WITHIN = 4_096
const server = net.createServer({ noDelay: true }, socket => {
  let rest: Buffer | undefined
  socket.on('error', () => socket.destroy())
  socket.on('data', data => {
    let bytes = rest ? Buffer.concat([rest, data as Buffer]) : (data as Buffer)
    for (;;) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) break
      const length = /content-length: *(\d+)/i.exec(bytes.toString('latin1', 0, end))?.[1]
      const size = end + 4 + Number(length ?? 0)
      if (bytes.length < size) break
      // The model's name is at the beginning of a body.
      answer(socket, bytes.toString('latin1', 0, Math.min(size, end + NAME_WITHIN)))
      bytes = bytes.subarray(size)
    }
    rest = bytes.length > 0 ? bytes : undefined
  })
})
server.listen(0, '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as net.AddressInfo).port })
})
process.on('disconnect', () => process.exit(0))
