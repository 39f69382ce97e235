/** A small S3 service in memory that checks every signature (SigV4) and hash by itself. */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const ACCESS_KEY = 'AKIATEST'
const SECRET_KEY = 'a secret/key+of=tests'
const REGION = 'eu-test-1'
/** Keys of a page, so that lists have several. */
const PAGE = 2
const MIN_PART = 5 * 2 ** 20

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')
const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** The signature that the request should have (AWS Signature Version 4). */
const expectedSignature = (request: IncomingMessage, body: Buffer): string => {
  const url = new URL(request.url ?? '', 'http://x')
  const [, scope = '', names = ''] =
    /Credential=AKIATEST\/([^,]+), ?SignedHeaders=([^,]+)/.exec(
      request.headers.authorization ?? '',
    ) ?? []
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
  const headers = names
    .split(';')
    .map(name => `${name}:${request.headers[name]}\n`)
    .join('')
  const canonical = [request.method, url.pathname, query, headers, names, sha256(body)].join('\n')
  const time = String(request.headers['x-amz-date'])
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [time.slice(0, 8), REGION, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${SECRET_KEY}`,
  )
  return hmac(key, text).toString('hex')
}

export const startS3 = async (t: Test) => {
  const objects = new Map<string, { bytes: Buffer; modified: number }>()
  const uploads = new Map<string, { key: string; parts: Map<number, Buffer>; initiated: number }>()
  const requests: string[] = []
  /** Statuses of the next responses. */
  const failures: number[] = []
  /** ms before each response. */
  const delay = { ms: 0 }

  const xml = (response: ServerResponse, text: string): void =>
    void response.end(`<?xml version="1.0"?>${text}`)
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.statusCode = status
    xml(response, `<Error><Code>${code}</Code></Error>`)
  }
  const list = (response: ServerResponse, query: URLSearchParams): void => {
    const keys = [...objects.keys()].filter(key => key.startsWith(query.get('prefix') ?? '')).sort()
    const rest = keys.filter(key => key > (query.get('continuation-token') ?? ''))
    const contents = rest.slice(0, PAGE).map(key => {
      const object = objects.get(key)
      return `<Contents><Key>${key}</Key><LastModified>${new Date(object?.modified ?? 0).toISOString()}</LastModified><Size>${object?.bytes.length}</Size></Contents>`
    })
    const next =
      rest.length > PAGE ? `<NextContinuationToken>${rest[PAGE - 1]}</NextContinuationToken>` : ''
    xml(response, `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`)
  }
  const listUploads = (response: ServerResponse): void => {
    const items = [...uploads].map(
      ([id, { key, initiated }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${new Date(initiated).toISOString()}</Initiated></Upload>`,
    )
    xml(response, `<ListMultipartUploadsResult>${items.join('')}</ListMultipartUploadsResult>`)
  }
  const read = (request: IncomingMessage, response: ServerResponse, key: string): void => {
    const object = objects.get(key)
    if (!object) return refuse(response, 404, 'NoSuchKey')
    const [, start = '0', end = ''] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const bytes = object.bytes.subarray(Number(start), end === '' ? undefined : Number(end) + 1)
    response.writeHead(end === '' ? 200 : 206, { 'content-length': bytes.length })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }
  const write = (
    response: ServerResponse,
    key: string,
    query: URLSearchParams,
    body: Buffer,
  ): void => {
    const upload = uploads.get(query.get('uploadId') ?? '')
    if (upload) upload.parts.set(Number(query.get('partNumber')), body)
    else objects.set(key, { bytes: body, modified: Date.now() })
    response.setHeader('etag', `"${sha256(body).slice(0, 32)}"`).end()
  }
  const complete = (response: ServerResponse, id: string, body: Buffer): void => {
    const upload = uploads.get(id)
    const parts = [
      ...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"(\w+)"/g),
    ].map(([, number, tag]) => {
      const part = upload?.parts.get(Number(number))
      return part && sha256(part).startsWith(tag ?? '-') ? part : undefined
    })
    const isSmall = parts.slice(0, -1).some(part => (part?.length ?? 0) < MIN_PART)
    // S3 reports these failures with status 200.
    if (!upload || parts.includes(undefined) || isSmall)
      return xml(response, '<Error><Code>InvalidPart</Code></Error>')
    uploads.delete(id)
    objects.set(upload.key, { bytes: Buffer.concat(parts as Buffer[]), modified: Date.now() })
    xml(response, '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>')
  }
  const answer = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://x')
    const key = pathname.replace(/^\/bucket\/?/, '')
    requests.push(
      `${request.method} ${key.replace(/file-\w+/, 'FILE')}${query.size > 0 ? `?${[...query.keys()].join('&')}` : ''}`,
    )
    const failure = failures.shift()
    if (failure !== undefined) return refuse(response, failure, 'SlowDown')
    const isSigned = request.headers.authorization?.endsWith(
      `Signature=${expectedSignature(request, body)}`,
    )
    if (!isSigned) return refuse(response, 403, 'SignatureDoesNotMatch')
    if (request.headers['x-amz-content-sha256'] !== sha256(body))
      return refuse(response, 400, 'XAmzContentSHA256Mismatch')
    if (request.method === 'GET' && query.has('list-type')) return list(response, query)
    if (request.method === 'GET' && query.has('uploads')) return listUploads(response)
    if (request.method === 'GET' || request.method === 'HEAD') return read(request, response, key)
    if (request.method === 'PUT') return write(response, key, query, body)
    if (request.method === 'POST' && query.has('uploads')) {
      const id = `upload-${uploads.size + 1}&"`
      uploads.set(id, { key, parts: new Map(), initiated: Date.now() })
      return xml(
        response,
        `<R><UploadId>${id.replace('&', '&amp;').replace('"', '&quot;')}</UploadId></R>`,
      )
    }
    if (request.method === 'POST') return complete(response, query.get('uploadId') ?? '', body)
    const id = query.get('uploadId')
    if (id === null) objects.delete(key)
    else uploads.delete(id)
    response.writeHead(204).end()
  }
  const endpoint = await startHttpUpstream(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () =>
      setTimeout(() => answer(request, response, Buffer.concat(chunks)), delay.ms),
    )
  })
  const store = `s3://bucket/some/folder?endpoint=${encodeURIComponent(endpoint)}&region=${REGION}`
  const settings = { store, access_key: ACCESS_KEY, secret_key: SECRET_KEY }
  return { endpoint, settings, objects, uploads, requests, failures, delay }
}
