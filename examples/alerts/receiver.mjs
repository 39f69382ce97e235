/** Stands for a chat: prints the messages that it gets. node examples/alerts/receiver.mjs PORT */
import { createServer } from 'node:http'

const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  console.log(JSON.parse(text).text)
  response.end('ok')
})
server.listen(Number(process.argv[2]), '127.0.0.1')
