/** A form with files, as `multipart/form-data` (RFC 7578) has it: written, and read where it stands. */
import { randomUUID } from 'node:crypto'
import { MIMEType } from 'node:util'
import type { Bytes } from '../../engine/plugin.ts'

export interface FormFile {
  readonly name: string
  readonly file: string
  readonly type: string
  readonly bytes: Bytes
}

/** `fields`: names of ours, and the client's own words as values. No value can hold a boundary that was made after it. */
export const writeForm = (
  fields: readonly (readonly [name: string, value: string])[],
  files: readonly FormFile[],
): { readonly type: string; readonly body: Bytes } => {
  const boundary = `tollgate-${randomUUID()}`
  const head = (disposition: string, more = ''): Bytes =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}${more}\r\n\r\n`)
  const end = Buffer.from('\r\n')
  const parts: Bytes[] = []
  for (const [name, value] of fields) parts.push(head(`name="${name}"`), Buffer.from(value), end)
  for (const { name, file, type, bytes } of files)
    parts.push(head(`name="${name}"; filename="${file}"`, `\r\ncontent-type: ${type}`), bytes, end)
  parts.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) }
}

// ---------------------------------------------------------------- reading

/** One part, and where its content stands in the body. */
export interface FormPart {
  readonly name: string
  readonly file: boolean
  readonly type: string | undefined
  readonly start: number
  readonly end: number
}

/** Of a form; undefined where the body is none, or its boundary is none that may be (RFC 2046 §5.1.1). */
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

const PARTS = 64
const HEAD = 4_096
const CRLF = '\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')

/** Undefined where it is cut, or not what it says it is: two readers of it might see two things. */
export const partsIn = (given: Bytes, boundary: string): readonly FormPart[] | undefined => {
  const body = Buffer.from(given.buffer, given.byteOffset, given.length)
  const line = Buffer.from(`${CRLF}--${boundary}`)
  const parts: FormPart[] = []
  let at = line.length - CRLF.length
  if (!body.subarray(0, at).equals(line.subarray(CRLF.length))) return undefined
  while (parts.length <= PARTS) {
    const next = body.toString('latin1', at, at + 2)
    if (next === '--') return parts
    if (next !== CRLF) return undefined
    const start = body.subarray(at, at + HEAD).indexOf(HEAD_END)
    if (start < 0) return undefined
    const from = at + start + HEAD_END.length
    // A part without content ends where its head does.
    const end = body.indexOf(line, from - CRLF.length)
    const head = end < 0 ? undefined : headOf(body.toString('utf8', at + CRLF.length, at + start))
    if (!head) return undefined
    parts.push({ ...head, start: from, end: Math.max(from, end) })
    at = end + line.length
  }
  return undefined
}

const PLAIN = /^(?:binary|8bit|7bit)$/i
const headOf = (text: string): Pick<FormPart, 'name' | 'file' | 'type'> | undefined => {
  const headers = new Map<string, string>()
  for (const line of text.split(CRLF)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    // Nothing twice, no folded lines: what is doubtful is refused.
    if (!/^[\w-]+$/.test(name) || headers.has(name)) return undefined
    headers.set(name, line.slice(colon + 1).trim())
  }
  if (!PLAIN.test(headers.get('content-transfer-encoding') ?? 'binary')) return undefined
  const disposition = headers.get('content-disposition') ?? ''
  const names = [...disposition.matchAll(/;\s*name\s*=\s*(?:"([^"\\]*)"|([\w.[\]-]+))/gi)]
  const name = names[0]?.[1] ?? names[0]?.[2]
  if (!/^form-data\s*;/i.test(disposition) || names.length !== 1 || !name) return undefined
  if (/;\s*name\s*\*/i.test(disposition)) return undefined
  const file = /;\s*filename\s*\*?\s*=/i.test(disposition)
  return { name, file, type: headers.get('content-type') }
}
