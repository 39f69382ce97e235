/** Asks one question in a realtime session and prints the answer: node client.mjs KEY */
import { WebSocket } from 'ws'

const socket = new WebSocket('ws://127.0.0.1:8080/v1/realtime?model=gpt-realtime', {
  headers: { authorization: `Bearer ${process.argv[2]}` },
})
const send = event => socket.send(JSON.stringify(event))
socket.on('open', () => {
  const content = [{ type: 'input_text', text: 'Hello' }]
  send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } })
  send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
  send({ type: 'response.create' })
})
socket.on('message', data => {
  const event = JSON.parse(data)
  console.log(event.type, event.delta ?? event.error?.message ?? '')
  if (event.type === 'response.done') {
    console.log('usage', JSON.stringify(event.response.usage))
    socket.close()
  }
})
