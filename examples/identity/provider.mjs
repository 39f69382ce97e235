/** A small identity provider: its discovery document, its key, and tokens with the claims of the
 *  query (`/token?email=…&org=…&groups=…`), for anyone who asks. Sign-ins are Ann's. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const key = { ...publicKey.export({ format: 'jwk' }), kid: 'only', alg: 'RS256', use: 'sig' }
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')

const server = createServer(async (request, response) => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const { pathname, searchParams } = new URL(request.url, issuer)
  if (pathname === '/.well-known/openid-configuration')
    return response.end(
      JSON.stringify({
        issuer,
        jwks_uri: `${issuer}/keys`,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/code`,
      }),
    )
  if (pathname === '/keys') return response.end(JSON.stringify({ keys: [key] }))
  const query = Object.fromEntries(searchParams)
  if (pathname === '/authorize') {
    // A real provider asks for a password here, and its codes are secrets that it keeps.
    const answer = new URLSearchParams({ code: query.nonce, state: query.state })
    return response.writeHead(302, { location: `${query.redirect_uri}?${answer}` }).end()
  }
  if (pathname === '/code') {
    const nonce = new URLSearchParams(await text(request)).get('code')
    const person = { email: 'ann@acme.example', org: 'acme', groups: 'staff' }
    const token = { ...person, audience: 'console', nonce }
    return response.end(JSON.stringify({ id_token: tokenOf(issuer, token) }))
  }
  response.end(tokenOf(issuer, query))
})
const tokenOf = (issuer, { email, org, groups = '', audience = 'gateway', nonce }) => {
  const iat = Math.floor(Date.now() / 1_000)
  const claims = { iss: issuer, aud: audience, sub: email, iat, exp: iat + 600, nonce, email }
  const all = { ...claims, org: { id: org }, groups: groups.split(',') }
  const signed = `${encode({ alg: 'RS256', kid: 'only' })}.${encode(all)}`
  const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
  return `${signed}.${signature}`
}
server.listen(Number(process.env.PORT ?? 8091), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`)
})
