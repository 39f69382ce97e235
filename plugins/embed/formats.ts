/** Embedding formats by name. To add one: a file, a line here, and its name in
 *  plugins/formats/embedding.ts. */
import type { EmbeddingName } from '../formats/embedding.ts'
import { google } from './google.ts'
import type { EmbeddingFormat } from './hub.ts'
import { openai } from './openai.ts'

export const embeddingFormats: Readonly<Record<EmbeddingName, EmbeddingFormat>> = {
  openai,
  google,
}
