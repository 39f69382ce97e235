/** Generates JSON Schemas of requests and answers from the types of the official SDKs;
 *  `node test/laws/sdk-schemas.ts` writes them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'

/** The members of JSON Schema that the schemas of the SDKs use. */
export interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly const?: string
  readonly type?: string | readonly string[]
}

const FOLDER = new URL('../fixtures/sdk-schemas/', import.meta.url)
export const fileOf = (name: string): URL => new URL(`${name}.json`, FOLDER)

/** Name of the file to the type in requests.ts. */
export const REQUEST_TYPES: Readonly<Record<string, string>> = {
  'openai-chat': 'Chat',
  'openai-responses': 'Responses',
  'anthropic-messages': 'Messages',
  'google-gemini': 'GenerateContent',
  'google-interactions': 'Interact',
}
/** Of requests.ts too: a format that is a target only. */
const TARGET_TYPES: Readonly<Record<string, string>> = { 'bedrock-converse': 'Converse' }
/** Of requests.ts too: beta endpoints and agents. */
export const BETA_TYPES: Readonly<Record<string, string>> = {
  'anthropic-messages-beta': 'BetaMessages',
  'openai-responses-beta': 'BetaResponses',
  'google-interactions-agents': 'InteractWithAgent',
}
/** The same in answers.ts: a type with `answer` and, where the format streams, `event`. */
export const ANSWER_TYPES: Readonly<Record<string, string>> = {
  'openai-chat-answered': 'ChatAnswered',
  'openai-responses-answered': 'ResponsesAnswered',
  'anthropic-messages-answered': 'MessagesAnswered',
  'google-gemini-answered': 'GeneratedAnswered',
  'google-interactions-answered': 'InteractionsAnswered',
  'embeddings-answered': 'EmbeddingsAnswered',
  'images-answered': 'ImagesAnswered',
}
/** The same in usage.ts. */
const USAGE_TYPES: Readonly<Record<string, string>> = {
  'usage-reports': 'UsageReports',
  'offered-tools': 'OfferedTools',
}
export const NAMES: readonly string[] = [
  ...Object.keys(REQUEST_TYPES),
  ...Object.keys(TARGET_TYPES),
  ...Object.keys(BETA_TYPES),
  ...Object.keys(ANSWER_TYPES),
  ...Object.keys(USAGE_TYPES),
]

/** The versions of the SDKs. */
export const versions = (): string =>
  ['openai', '@anthropic-ai/sdk', '@google/genai', '@aws-sdk/client-bedrock-runtime']
    .map(name => {
      const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
      return `${name} ${JSON.parse(readFileSync(manifest, 'utf8')).version}`
    })
    .join(', ')

export const generateSchema = (name: string): string => {
  const requested = REQUEST_TYPES[name] ?? TARGET_TYPES[name] ?? BETA_TYPES[name]
  const type = requested ?? ANSWER_TYPES[name] ?? USAGE_TYPES[name] ?? ''
  const file = requested ? 'requests' : name in ANSWER_TYPES ? 'answers' : 'usage'
  const schema = createGenerator({
    path: fileURLToPath(new URL(`${file}.ts`, FOLDER)),
    tsconfig: fileURLToPath(new URL('tsconfig.json', FOLDER)),
    type,
    skipTypeCheck: true,
    jsDoc: 'none',
  }).createSchema(type)
  return `${JSON.stringify({ $comment: versions(), ...schema }, bytesAsText)}\n`
}
/** Bytes are base64 in JSON. */
const bytesAsText = (_: string, value: unknown): unknown =>
  JSON.stringify(Object(value).properties)?.startsWith('{"BYTES_PER_ELEMENT"')
    ? { type: 'string' }
    : value

if (import.meta.main) for (const name of NAMES) writeFileSync(fileOf(name), generateSchema(name))
