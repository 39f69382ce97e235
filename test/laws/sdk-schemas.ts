/** Generates JSON Schemas from what the official SDKs' types say may be sent and is answered: `node test/laws/sdk-schemas.ts`
 *  writes them anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'

const FOLDER = new URL('../fixtures/sdk-schemas/', import.meta.url)
export const fileOf = (name: string): URL => new URL(`${name}.json`, FOLDER)

/** Name of the file to the type in requests.ts. */
export const ASKED: Readonly<Record<string, string>> = {
  'openai-chat': 'Chat',
  'openai-responses': 'Responses',
  'anthropic-messages': 'Messages',
  'google-gemini': 'GenerateContent',
}
/** And in answers.ts: one with the members `answer` and, of a format that streams, `event`. */
export const ANSWERED: Readonly<Record<string, string>> = {
  'openai-chat-answered': 'ChatAnswered',
  'openai-responses-answered': 'ResponsesAnswered',
  'anthropic-messages-answered': 'MessagesAnswered',
  'google-gemini-answered': 'GeneratedAnswered',
  'embeddings-answered': 'EmbeddingsAnswered',
  'images-answered': 'ImagesAnswered',
}
export const NAMES: readonly string[] = [...Object.keys(ASKED), ...Object.keys(ANSWERED)]

/** The versions whose types these are. */
export const versions = (): string =>
  ['openai', '@anthropic-ai/sdk', '@google/genai']
    .map(name => {
      const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
      return `${name} ${JSON.parse(readFileSync(manifest, 'utf8')).version}`
    })
    .join(', ')

export const generated = (name: string): string => {
  const type = ASKED[name] ?? ANSWERED[name] ?? ''
  const schema = createGenerator({
    path: fileURLToPath(new URL(name in ASKED ? 'requests.ts' : 'answers.ts', FOLDER)),
    tsconfig: fileURLToPath(new URL('tsconfig.json', FOLDER)),
    type,
    skipTypeCheck: true,
    jsDoc: 'none',
  }).createSchema(type)
  return `${JSON.stringify({ $comment: versions(), ...schema })}\n`
}

if (import.meta.main) for (const name of NAMES) writeFileSync(fileOf(name), generated(name))
