/** Generates JSON Schemas from what the official SDKs' types say may be sent: `node test/laws/sdk-schemas.ts` writes them anew. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'

const FOLDER = new URL('../fixtures/sdk-schemas/', import.meta.url)
export const fileOf = (name: string): URL => new URL(`${name}.json`, FOLDER)
/** Name of the file to the type in asked.ts. */
export const TYPES: Readonly<Record<string, string>> = {
  'openai-chat': 'Chat',
  'openai-responses': 'Responses',
  'anthropic-messages': 'Messages',
  'google-gemini': 'GenerateContent',
}

/** The versions whose types these are. */
export const versions = (): string =>
  ['openai', '@anthropic-ai/sdk', '@google/genai']
    .map(name => {
      const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
      return `${name} ${JSON.parse(readFileSync(manifest, 'utf8')).version}`
    })
    .join(', ')

export const generated = (name: string): string => {
  const schema = createGenerator({
    path: fileURLToPath(new URL('asked.ts', FOLDER)),
    tsconfig: fileURLToPath(new URL('tsconfig.json', FOLDER)),
    type: TYPES[name] ?? '',
    skipTypeCheck: true,
    jsDoc: 'none',
  }).createSchema(TYPES[name])
  return `${JSON.stringify({ $comment: versions(), ...schema })}\n`
}

if (import.meta.main) for (const name in TYPES) writeFileSync(fileOf(name), generated(name))
