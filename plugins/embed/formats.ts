/** Embedding formats by name. To add one: a file, a line here, and its name in
 *  plugins/formats/embedding.ts. */
import type { Bytes } from '../../engine/plugin.ts'
import type { EmbeddingName } from '../formats/embedding.ts'
import { NO_NULLS, withoutNulls } from '../formats/json/null-members.ts'
import { google } from './google.ts'
import type { EmbeddingFormat } from './hub.ts'
import { openai } from './openai.ts'

export const embeddingFormats: Readonly<Record<EmbeddingName, EmbeddingFormat>> = {
  openai,
  google,
}

/** Providers of embeddings refuse null members. */
export const omitNulls = (body: Bytes): Bytes => withoutNulls(body, NO_NULLS)
