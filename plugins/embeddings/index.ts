/** Formats of embeddings by name. A further one is a file and a line here. */
import { google } from './google.ts'
import type { EmbeddingFormat } from './hub.ts'
import { openai } from './openai.ts'

export const embeddingFormats: ReadonlyMap<string, EmbeddingFormat> = new Map(
  [openai, google].map(format => [format.name, format]),
)
