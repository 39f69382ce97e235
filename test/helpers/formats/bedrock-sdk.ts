/** The unmodified SDK of Amazon Bedrock as a judge: reads what an upstream serves, and sends what a
 *  request says, so that members which the API does not have are missing in its own body. */
import { Readable } from 'node:stream'
import {
  BedrockRuntimeClient,
  ConverseCommand,
  type ConverseCommandInput,
  type ConverseCommandOutput,
  ConverseStreamCommand,
  type ConverseStreamOutput,
} from '@aws-sdk/client-bedrock-runtime'
import type { Json } from '../../../engine/plugin.ts'

interface SdkRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array
}
const clientOf = (
  handle: (request: SdkRequest) => Promise<{
    readonly statusCode: number
    readonly headers: Record<string, string>
    readonly body: Readable
  }>,
): BedrockRuntimeClient =>
  new BedrockRuntimeClient({
    region: 'eu-west-1',
    endpoint: 'http://127.0.0.1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: {
      async handle(request: SdkRequest) {
        return { response: await handle(request) }
      },
    } as never,
  })

/** A client of an upstream at this address. Only HTTP/1 is spoken. */
const clientAt = (url: string): BedrockRuntimeClient =>
  clientOf(async ({ method, path, headers, body }) => {
    const {
      status,
      headers: replyHeaders,
      body: stream,
    } = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: Buffer.from(body) }),
    })
    return {
      statusCode: status,
      headers: Object.fromEntries(replyHeaders),
      body: Readable.fromWeb(stream as never),
    }
  })
const INPUT: ConverseCommandInput = {
  modelId: 'm',
  messages: [{ role: 'user', content: [{ text: 'hi' }] }],
}
export const readAnswer = (url: string): Promise<ConverseCommandOutput> =>
  clientAt(url).send(new ConverseCommand(INPUT))
export const readStream = async (url: string): Promise<readonly ConverseStreamOutput[]> => {
  const { stream } = await clientAt(url).send(new ConverseStreamCommand(INPUT))
  const events: ConverseStreamOutput[] = []
  for await (const event of stream ?? []) events.push(event)
  return events
}

/** The SDK's HTTP message for a request: its path and its body. */
export const sendBySdk = async (
  modelId: string,
  body: Json,
  isStream: boolean,
): Promise<{ readonly path: string; readonly body: Json }> => {
  const requests: SdkRequest[] = []
  const client = clientOf(async request => {
    requests.push(request)
    const json = '{"message":"none"}'
    return { statusCode: 400, headers: {}, body: Readable.from([json]) }
  })
  const input = { ...(withBytes(body) as object), modelId } as ConverseCommandInput
  const command = isStream ? new ConverseStreamCommand(input) : new ConverseCommand(input)
  await client.send(command as ConverseCommand).catch(() => undefined)
  const [request] = requests
  if (!request) throw new Error('the SDK refused the request')
  return { path: request.path, body: JSON.parse(Buffer.from(request.body ?? '').toString()) }
}
/** The SDK takes bytes in place of the JSON's base64. */
const withBytes = (value: Json): unknown => {
  if (Array.isArray(value)) return value.map(withBytes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) =>
      (key === 'bytes' || key === 'redactedContent') && typeof each === 'string'
        ? [key, Buffer.from(each, 'base64')]
        : [key, withBytes(each)],
    ),
  )
}
