/** Prints each callback, and whether its signature was made with the API key:
 *  node receiver.mjs KEY */
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  response.end()
  const { pathname, search } = new URL(request.url, 'http://receiver')
  const { date, 'x-request-nonce': nonce, 'x-hmac-signature': signature } = request.headers
  const lines = ['POST', pathname, search.slice(1), 'vidu', date, `Date:${date}`]
  const signed = [...lines, `x-request-nonce:${nonce}`].map(line => `${line}\n`).join('')
  const own = createHmac('sha256', process.argv[2]).update(signed).digest('base64')
  const { id, state } = JSON.parse(body)
  console.log(signature === own ? 'genuine' : 'forged', id, state)
  if (state === 'success' || state === 'failed') server.close()
})
server.listen(8443, '127.0.0.1', () => console.log('listens'))
