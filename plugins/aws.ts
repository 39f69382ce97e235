/** `auth: { aws: … }`: signs requests to an upstream with AWS Signature Version 4. */
import { AwsV4Signer } from 'aws4fetch'
import { json, object, type RawOf, required, text } from '../engine/config/shape.ts'
import type { Headers, Plugin, SignableRequest } from '../engine/plugin.ts'

const named = <const E extends string>(description: string, example: E, notes: object = {}) =>
  text(description, { minLength: 1, examples: [example], ...notes })
const SECRET = { format: 'password' }
const AWS = object(
  'Signs requests with AWS Signature Version 4.',
  {
    region: required(named('Region of the endpoint.', 'us-east-1')),
    service: required(named('Name of the service in signatures.', 'bedrock')),
    id: required(named('Access key id.', '${AWS_ACCESS_KEY_ID}')),
    secret: required(named('Secret access key.', '${AWS_SECRET_ACCESS_KEY}', SECRET)),
    session: named('Session token of temporary credentials.', '${AWS_SESSION_TOKEN}', SECRET),
  },
  {
    examples: [
      {
        region: 'us-east-1',
        service: 'bedrock',
        id: '${AWS_ACCESS_KEY_ID}',
        secret: '${AWS_SECRET_ACCESS_KEY}',
      },
    ],
  },
)
export type AwsOptions = RawOf<typeof AWS>

/** Headers that the signature covers, besides `host` and `x-amz-*`: a proxy on the way may change
 *  the others. */
const SIGNED = new Set(['content-type'])

/** A signing key is made each day. */
const MOST_KEYS = 7

/** Adds the signature to the headers. `date`: `20150830T123600Z`. `keys`: cache of signing keys. */
export const signForAws = async (
  request: SignableRequest,
  { region, service, id, secret, session }: AwsOptions,
  keys: Map<string, ArrayBuffer>,
  date?: string,
): Promise<void> => {
  const { method, headers, body, isStreamed } = request
  const signer = new AwsV4Signer({
    method,
    url: urlOf(request),
    headers: {
      ...headersToSign(headers),
      ...(isStreamed && { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
    },
    ...(body && { body }),
    accessKeyId: id,
    secretAccessKey: secret,
    ...(session && { sessionToken: session }),
    region,
    service,
    cache: keys,
    allHeaders: true,
    ...(date && { datetime: date }),
  })
  const signed = await signer.sign()
  for (const name in headers) if (name.toLowerCase() === 'authorization') delete headers[name]
  for (const [name, value] of signed.headers)
    if (name === 'authorization' || name.startsWith('x-amz-')) headers[name] = value
}

/** The URL with the host that is sent. */
const urlOf = ({ url, headers: { host } }: SignableRequest): string => {
  const signed = new URL(url)
  if (typeof host === 'string') signed.host = host
  return signed.href
}
const headersToSign = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
      .filter(([name]) => SIGNED.has(name) || name.startsWith('x-amz-')),
  )

export default {
  schema: json('It has no options on a route.', { type: 'object', examples: [{}] }).schema,
  setup: () => ({}),
  auth: {
    schema: AWS.schema,
    setup: (options: AwsOptions) => {
      const keys = new Map<string, ArrayBuffer>()
      return {
        key: options.id,
        sign(request: SignableRequest) {
          if (keys.size > MOST_KEYS) keys.clear()
          return signForAws(request, options, keys)
        },
      }
    },
  },
} satisfies Plugin
