/** Writes and reads `multipart/form-data` (RFC 7578). Reading returns offsets and copies no
 *  content. */
import { randomUUID } from 'node:crypto'
import { MIMEType } from 'node:util'
import type { Bytes } from '../../engine/plugin.ts'

export interface FormFile {
  readonly name: string
  readonly file: string
  readonly type: string
  readonly bytes: Bytes
}

/** `fields`: names from the code, values from the client. No value can contain the boundary,
 *  because it is random and made after the value. */
export const writeForm = (
  fields: readonly (readonly [name: string, value: string])[],
  files: readonly FormFile[],
): { readonly type: string; readonly body: Bytes } => {
  const boundary = `tollgate-${randomUUID()}`
  const head = (disposition: string, headers = ''): Bytes =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}${headers}\r\n\r\n`)
  const end = Buffer.from('\r\n')
  const parts: Bytes[] = []
  for (const [name, value] of fields) parts.push(head(`name="${name}"`), Buffer.from(value), end)
  for (const { name, file, type, bytes } of files)
    parts.push(head(`name="${name}"; filename="${file}"`, `\r\ncontent-type: ${type}`), bytes, end)
  parts.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) }
}

// ---------------------------------------------------------------- reading

/** A part and the offsets of its content in the body. */
export interface FormPart {
  readonly name: string
  readonly file: boolean
  readonly type: string | undefined
  readonly start: number
  readonly end: number
}

/** The boundary of a form; undefined if the content type is another or the boundary is invalid (RFC
 *  2046 §5.1.1). */
export const boundaryOf = (type: string | undefined): string | undefined => {
  if (type === undefined || !/^\s*multipart\/form-data/i.test(type)) return undefined
  try {
    const { essence, params } = new MIMEType(type)
    const boundary = params.get('boundary') ?? ''
    return essence === 'multipart/form-data' && /^[\x21-\x7e]{1,70}$/.test(boundary)
      ? boundary
      : undefined
  } catch {
    return undefined
  }
}

const MAX_PARTS = 64
const MAX_HEAD = 4_096
const CRLF = '\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')

/** Undefined if the body is truncated or malformed: two parsers might read an ambiguous form
 *  differently. */
export const partsIn = (bytes: Bytes, boundary: string): readonly FormPart[] | undefined => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const delimiter = Buffer.from(`${CRLF}--${boundary}`)
  const parts: FormPart[] = []
  let offset = delimiter.length - CRLF.length
  if (!body.subarray(0, offset).equals(delimiter.subarray(CRLF.length))) return undefined
  while (parts.length <= MAX_PARTS) {
    const next = body.toString('latin1', offset, offset + 2)
    if (next === '--') return parts
    if (next !== CRLF) return undefined
    const start = body.subarray(offset, offset + MAX_HEAD).indexOf(HEAD_END)
    if (start < 0) return undefined
    const contentStart = offset + start + HEAD_END.length
    // Search from the end of the head, so that a part without content is found.
    const end = body.indexOf(delimiter, contentStart - CRLF.length)
    const head =
      end < 0 ? undefined : parseHead(body.toString('utf8', offset + CRLF.length, offset + start))
    if (!head) return undefined
    parts.push({ ...head, start: contentStart, end: Math.max(contentStart, end) })
    offset = end + delimiter.length
  }
  return undefined
}

const IDENTITY_ENCODING = /^(?:binary|8bit|7bit)$/i
const parseHead = (text: string): Pick<FormPart, 'name' | 'file' | 'type'> | undefined => {
  const headers = new Map<string, string>()
  for (const line of text.split(CRLF)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    // Rejects repeated and folded headers as ambiguous.
    if (!/^[\w-]+$/.test(name) || headers.has(name)) return undefined
    headers.set(name, line.slice(colon + 1).trim())
  }
  if (!IDENTITY_ENCODING.test(headers.get('content-transfer-encoding') ?? 'binary'))
    return undefined
  const disposition = headers.get('content-disposition') ?? ''
  const names = [...disposition.matchAll(/;\s*name\s*=\s*(?:"([^"\\]*)"|([\w.[\]-]+))/gi)]
  const name = names[0]?.[1] ?? names[0]?.[2]
  if (!/^form-data\s*;/i.test(disposition) || names.length !== 1 || !name) return undefined
  if (/;\s*name\s*\*/i.test(disposition)) return undefined
  const file = /;\s*filename\s*\*?\s*=/i.test(disposition)
  return { name, file, type: headers.get('content-type') }
}
