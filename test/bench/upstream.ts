/** The bench's upstream: HTTP/1.1 by hand over node:net, so that it costs little beside what is measured. */
import net from 'node:net'
import { DONE, EVENTS, event, NAMES, plainAnswer } from './answers.ts'

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const head = (type: string, framing: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${framing}\r\n\r\n`

const PLAIN = Buffer.from(
  head('application/json', `content-length: ${Buffer.byteLength(plainAnswer())}`) + plainAnswer(),
)
const STREAM_HEAD = Buffer.from(head('text/event-stream', 'transfer-encoding: chunked'))
const EVENT_CHUNKS = Array.from({ length: EVENTS - 1 }, (_, index) =>
  Buffer.from(chunk(event(index))),
)
const LAST = Buffer.from(`${chunk(DONE)}0\r\n\r\n`)

const answer = (socket: net.Socket, body: Buffer): void => {
  if (body.includes(NAMES.plain)) return void socket.write(PLAIN)
  socket.write(STREAM_HEAD)
  if (body.includes(NAMES.idle)) return void socket.write(EVENT_CHUNKS[0] ?? LAST)
  // One write an event, as a real upstream has them.
  for (const each of EVENT_CHUNKS) socket.write(each)
  socket.write(LAST)
}

const server = net.createServer({ noDelay: true }, socket => {
  let rest: Buffer | undefined
  socket.on('error', () => socket.destroy())
  socket.on('data', data => {
    let bytes = rest ? Buffer.concat([rest, data as Buffer]) : (data as Buffer)
    for (;;) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) break
      const length = /content-length: *(\d+)/i.exec(bytes.toString('latin1', 0, end))?.[1]
      const whole = end + 4 + Number(length ?? 0)
      if (bytes.length < whole) break
      answer(socket, bytes.subarray(end + 4, whole))
      bytes = bytes.subarray(whole)
    }
    rest = bytes.length > 0 ? bytes : undefined
  })
})
server.listen(0, '127.0.0.1', 4096, () => {
  process.send?.({ port: (server.address() as net.AddressInfo).port })
})
process.on('disconnect', () => process.exit(0))
