/** AWS Signature Version 4 as the AWS documentation describes it, for upstreams that verify. */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The credentials of the published test suite. */
export const ID = 'AKIDEXAMPLE'
export const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()
const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** The Authorization header that a request of these bytes must have: `bedrock` in `eu-west-1`. */
export const expectedAuthorization = (
  { method, url = '', headers }: IncomingMessage,
  body: Buffer,
) => {
  const { pathname, searchParams } = new URL(url, 'http://host')
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? []
  const query = [...searchParams].map(pair => pair.map(encode).join('=')).sort()
  const canonical = [
    method,
    pathname.split('/').map(encode).join('/'),
    query.join('&'),
    ...names.map(name => `${name}:${headers[name]}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'] ?? sha256(body),
  ].join('\n')
  const date = String(headers['x-amz-date'])
  const scope = `${date.slice(0, 8)}/eu-west-1/bedrock/aws4_request`
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${SECRET}`)
  const text = `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`
  const signature = hmac(key as Buffer, text).toString('hex')
  return `AWS4-HMAC-SHA256 Credential=${ID}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
}
