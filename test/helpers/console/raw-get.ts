/** A GET whose body stays as it was sent: `fetch` decompresses. */
import { get, type IncomingHttpHeaders } from 'node:http'

export interface RawReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}
export const rawGet = (
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawReply> =>
  new Promise((resolve, reject) => {
    get(url, { headers, agent: false }, response => {
      const chunks: Buffer[] = []
      response.on('error', reject).on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, bytes, text: bytes.toString() })
      })
    }).on('error', reject)
  })
