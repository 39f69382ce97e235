/** A small identity provider: its discovery document, its key, and tokens with the claims of the
 *  query (`/token?email=…&org=…&groups=…`), for anyone who asks. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const key = { ...publicKey.export({ format: 'jwk' }), kid: 'only', alg: 'RS256', use: 'sig' }
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')

const server = createServer((request, response) => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const { pathname, searchParams } = new URL(request.url, issuer)
  if (pathname === '/.well-known/openid-configuration')
    return response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }))
  if (pathname === '/keys') return response.end(JSON.stringify({ keys: [key] }))
  const { email, org, groups = '', audience = 'gateway' } = Object.fromEntries(searchParams)
  const exp = Math.floor(Date.now() / 1_000) + 600
  const claims = { iss: issuer, aud: audience, sub: email, exp, email }
  const all = { ...claims, org: { id: org }, groups: groups.split(',') }
  const signed = `${encode({ alg: 'RS256', kid: 'only' })}.${encode(all)}`
  const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
  response.end(`${signed}.${signature}`)
})
server.listen(Number(process.env.PORT ?? 8091), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`)
})
