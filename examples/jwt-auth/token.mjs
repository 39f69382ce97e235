/** Signs a token as an identity provider does (HS256): node token.mjs ACCOUNT SECRET */
import { createHmac } from 'node:crypto'

const [account, secret] = process.argv.slice(2)
const encode = value => Buffer.from(JSON.stringify(value)).toString('base64url')
const exp = Math.floor(Date.now() / 1_000) + 300
const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: account, exp })}`
console.log(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`)
